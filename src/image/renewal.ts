/**
 * A new generation in the making: everything alive is copied into new buffers, in steps between which others have their turn. Meanwhile
 * readers read the former generation, and commits and loads change it; what they change of the part that is copied is noted and copied
 * again. When nothing is left, the copy equals the former generation as it is at that moment, and switching takes no time.
 *
 * The former generation is only read, so a copy that is not finished may be dropped at any step.
 *
 * A slot belongs to one name as long as its generation lasts, and a page of a denial index never changes. So each of them has one place
 * in the copy, whatever is changed meanwhile.
 */
import type { IsOver } from '../base/slices.js';
import { copyIndex, type IndexCopy } from './denial-index.js';
import { hashName, NodeWord, REMOVED_SLOT, SLOT_WORDS, viewOf, zoneOfNode } from './layout.js';
import type { CommitPlan } from './plan.js';
import { type ImageTables, saltWords, zoneRecordWords } from './tables.js';
import { countWords, type StagedNode, saltOf, type ZoneState } from './zone-state.js';

/** Slots that are looked at in one step. */
const SLOTS_AT_ONCE = 32;

/** More was changed meanwhile than there is room for. A copy that begins again is given more. */
export class CopyFull extends Error {
  constructor() {
    super('the new generation of the image has no more room');
    this.name = 'CopyFull';
  }
}

export class Renewal {
  /** With offsets in the copy, by zone number. */
  readonly zones = new Map<number, ZoneState>();
  /** By number of the slot: where its node stands among the slots of the copy; 0 when it is not copied. */
  private readonly moved: Int32Array;
  /** The slot that comes next. */
  private next = 0;
  private readonly changedSlots = new Set<number>();
  private readonly changedZones = new Set<number>();
  private readonly index: IndexCopy;
  private readonly steps: Generator<undefined, void>;

  /** `target`: empty. `known`: the zones of the former generation; it may change meanwhile, as that may. */
  constructor(
    private readonly source: ImageTables,
    readonly target: ImageTables,
    private readonly known: ReadonlyMap<number, Readonly<ZoneState>>,
  ) {
    this.moved = new Int32Array(source.view.slots.length / SLOT_WORDS);
    const slot = (of: number): number => this.moved[of >>> 1]! - 1;
    this.index = { source: source.view, slot, append: (words) => this.append(words), pages: new Map() };
    this.steps = this.copyAll();
  }

  /** Copies until a time is over, which is asked after each step, or nothing is left to copy: then it returns true. */
  advance(isOver: IsOver): boolean {
    while (!this.steps.next().done) if (isOver()) return false;
    return true;
  }

  /** Staged nodes as they are in the copy. Only when nothing else is left. */
  copyStaged(staged: ReadonlyMap<string, StagedNode>): Map<string, StagedNode> {
    const copied = new Map<string, StagedNode>();
    for (const [key, node] of staged)
      copied.set(key, node.node === 0 ? node : { ...node, node: this.copyNode(node.node) });
    return copied;
  }

  /** Notes what a commit has changed. */
  noteCommit({ slots, zones }: Pick<CommitPlan, 'slots' | 'zones'>): void {
    for (const slot of slots) this.noteSlot(slot);
    for (const zone of zones.keys()) this.noteZone(zone);
  }

  /** Notes that the node of a slot is another one. */
  noteSlot(slot: number): void {
    if (slot < this.next) this.changedSlots.add(slot);
  }

  /** Notes that the state of a zone is another one, or that it is gone. */
  noteZone(zone: number): void {
    // Zones are copied when all slots are.
    if (this.next === this.source.view.slots.length) this.changedZones.add(zone);
  }

  private *copyAll(): Generator<undefined, void> {
    for (const end = this.source.view.slots.length; this.next < end; ) {
      const stop = Math.min(end, this.next + SLOTS_AT_ONCE * SLOT_WORDS);
      for (; this.next < stop; this.next += SLOT_WORDS) this.copySlot(this.next);
      yield;
      yield* this.copyChangedSlots();
    }
    for (const zone of this.known.keys()) {
      // The pages of a zone name slots.
      yield* this.copyChangedSlots();
      yield* this.copyZone(zone);
      yield;
    }
    for (;;) {
      yield* this.copyChangedSlots();
      const [zone] = this.changedZones;
      if (zone === undefined) return;
      this.changedZones.delete(zone);
      yield* this.copyZone(zone);
    }
  }

  private *copyChangedSlots(): Generator<undefined, void> {
    for (const slot of this.changedSlots) {
      this.changedSlots.delete(slot);
      this.copySlot(slot);
      yield;
    }
  }

  private copySlot(slot: number): void {
    const { words, slots } = this.source.view;
    const { target, moved } = this;
    const node = slots[slot + 1]!;
    const known = moved[slot >>> 1]!;
    if (node <= REMOVED_SLOT) {
      if (known !== 0) target.view.slots[known] = REMOVED_SLOT;
      return;
    }
    const zone = words[node + NodeWord.zone]!;
    if (!this.known.has(zoneOfNode(zone))) return;
    if (known === 0 && !target.hasSlotRoom(1)) throw new CopyFull();
    const copy = this.copyNode(node);
    if (known !== 0) target.view.slots[known] = copy;
    else moved[slot >>> 1] = target.fillSlot(zone, words[node + NodeWord.hash]!, copy) + 1;
  }

  /** Copies a zone as it is now. What changes between the steps is noted, so that it is copied again. */
  private *copyZone(zone: number): Generator<undefined, void> {
    const begun = this.known.get(zone);
    if (begun) {
      const index = yield* copyIndex(this.index, begun.index);
      this.putZone(zone, { ...(this.known.get(zone) ?? begun), index });
    } else this.removeZone(zone);
  }

  private putZone(zone: number, state: ZoneState): void {
    const { target } = this;
    const { apex } = state;
    if (state.apexNode !== 0) {
      state.apexNode = target.view.findNode(zone, hashName(target.buffers.seed, apex), viewOf(apex), 0, apex.length);
    }
    if (state.record !== 0) {
      const before = this.zones.get(zone);
      const salt = saltOf(state);
      state.record = before?.record || this.appendRecord(zone, apex, salt);
      state.salt = before?.salt || target.appendSalt(salt);
      for (const [word, value] of countWords(state)) target.view.words[state.record + word] = value;
    }
    this.zones.set(zone, state);
  }

  /** There is room for the salt, too. */
  private appendRecord(zone: number, apex: Uint8Array, salt: Uint8Array): number {
    const { target } = this;
    const words = zoneRecordWords(apex) + saltWords(salt);
    if (!target.hasHeapRoom(words) || !target.hasZoneRoom(1)) throw new CopyFull();
    const record = target.appendZone(zone, apex);
    target.view.zoneSlots[target.findZoneSlot(apex)] = record;
    target.takenZoneSlots++;
    return record;
  }

  private removeZone(zone: number): void {
    const { target, zones } = this;
    const record = zones.get(zone)?.record ?? 0;
    if (record !== 0) target.view.zoneSlots[target.zoneSlotOf(record)] = REMOVED_SLOT;
    zones.delete(zone);
  }

  private copyNode(node: number): number {
    const { words } = this.source.view;
    return this.append(words.subarray(node, node + words[node + NodeWord.length]!));
  }

  private append(words: Int32Array): number {
    if (!this.target.hasHeapRoom(words.length)) throw new CopyFull();
    return this.target.append(words);
  }
}
