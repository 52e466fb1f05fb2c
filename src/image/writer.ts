/**
 * The one writer of the image: appends nodes, switches slots, makes new generations.
 *
 * A change is staged (`putNode`, `removeNode`, `putZone`, `removeZone`) and becomes visible as a whole in `commit`, under the
 * sequence word: odd while slots are switched, even again afterwards. Readers compare it around each answer, so none is made
 * of half a change. A zone loaded anew is built under a fresh zone number that no record names yet; nothing needs staging.
 *
 * When the heap or the slots are full, or more is garbage than in use, everything alive is copied into new buffers: a new
 * generation. Old buffers stay as they are until the last reader has let go of them.
 */
import { invariant } from '../base/errors.js';
import { labelCount } from '../dns/name.js';
import { allocate, powerOfTwo } from './buffers.js';
import { compileNode, type NodeSource } from './compile.js';
import {
  Control,
  EMPTY_SLOT,
  Flag,
  filterBit,
  HEAP_START,
  hashName,
  type ImageBuffers,
  REMOVED_SLOT,
  SLOT_WORDS,
  slotOf,
  viewOf,
  ZONE_HEADER,
  ZoneWord,
} from './layout.js';
import { ImageReader } from './reader.js';

/** Rebuild only when this much is garbage, in words: small images are left alone. */
const MIN_GARBAGE = 1 << 18;
const MAX_HEAP_WORDS = 0x3fffffff;

export interface WriterOptions {
  /** Unpredictable 32 bits, so that nobody can prepare colliding names. */
  readonly seed: number;
  /** Words to begin with; memory is only used when it is written to. */
  readonly heapWords?: number;
  readonly slots?: number;
}

/** How full the image is; sizes in octets. */
export interface ImageUsage {
  readonly generation: number;
  readonly nodes: number;
  readonly zones: number;
  readonly heapOctets: number;
  readonly garbageOctets: number;
  readonly slotOctets: number;
}

interface ZoneState {
  readonly apex: Uint8Array;
  /** Word offset of the zone's record; 0 while it is being loaded aside. */
  record: number;
  words: number;
  nodes: number;
  cuts: number;
  wildcards: number;
  /** Word offset of the apex's node. */
  apexNode: number;
}

/** A node to appear (offset > 0) or to vanish (0). */
interface StagedNode {
  readonly zone: number;
  readonly hash: number;
  readonly name: Uint8Array;
  readonly node: number;
}

export class ImageWriter {
  readonly reader: ImageReader;
  /** Called with every new generation; its buffers must reach all readers. */
  onGeneration: (buffers: ImageBuffers) => void = () => {};

  private buffers: ImageBuffers;
  private readonly zones = new Map<number, ZoneState>();
  private nextZone = 1;
  private used = HEAP_START;
  private garbage = 0;
  private takenSlots = 0;
  private takenZoneSlots = 0;
  private staged: StagedNode[] = [];
  private stagedZones: (() => void)[] = [];

  constructor(options: WriterOptions) {
    this.buffers = allocate(
      1,
      options.seed,
      new SharedArrayBuffer(Control.length * 4),
      options.heapWords ?? 1 << 20,
      options.slots ?? 1 << 12,
      1 << 8,
    );
    this.reader = new ImageReader(this.buffers);
    const control = this.reader.control;
    Atomics.store(control, Control.zoneMinLabels, 127);
    Atomics.store(control, Control.generation, 1);
  }

  /** The shared memory as it is now, for a thread that starts. */
  current(): ImageBuffers {
    return this.buffers;
  }

  usage(): ImageUsage {
    let nodes = 0;
    for (const zone of this.zones.values()) nodes += zone.nodes;
    return {
      generation: this.buffers.generation,
      nodes,
      zones: this.zones.size,
      heapOctets: this.used * 4,
      garbageOctets: this.garbage * 4,
      slotOctets: this.buffers.filter.byteLength + this.buffers.slots.byteLength + this.buffers.zoneSlots.byteLength,
    };
  }

  /** A number for a zone to be loaded; nobody sees it before `publishZone`. `apex` in lower case. */
  beginZone(apex: Uint8Array): number {
    const zone = this.nextZone++;
    this.zones.set(zone, { apex, record: 0, words: 0, nodes: 0, cuts: 0, wildcards: 0, apexNode: 0 });
    return zone;
  }

  /** Adds a node to a zone that is being loaded aside. Every name only once. */
  loadNode(zone: number, source: NodeSource): void {
    // Before the node is appended: new buffers take only what slots point to.
    this.makeSlotRoom(1);
    const { hash, flags, node } = this.append(zone, source);
    this.fillSlot(zone, hash, node);
    const state = this.zoneState(zone);
    this.count(state, flags, 1);
    if (flags & Flag.apex) state.apexNode = node;
  }

  /** Stages: the zone loaded as `zone` is served from now on, in place of the one served as `replaced`. */
  publishZone(zone: number, replaced?: number): void {
    const state = this.zoneState(zone);
    this.stagedZones.push(() => {
      const old = replaced === undefined ? undefined : this.zones.get(replaced);
      if (old) {
        state.record = old.record;
        this.reader.words[state.record + ZoneWord.number] = zone;
        this.forget(replaced!, old);
      } else {
        state.record = this.putZoneRecord(zone, state);
      }
      this.storeCounts(state);
    });
  }

  /** Stages: the zone is no longer served. */
  removeZone(zone: number): void {
    const state = this.zoneState(zone);
    this.stagedZones.push(() => {
      const slots = this.reader.zoneSlots;
      const index = slots.indexOf(state.record);
      if (state.record !== 0 && index >= 0) slots[index] = REMOVED_SLOT;
      this.forget(zone, state);
    });
  }

  /** Drops a zone that was begun but will not be published. */
  abandonZone(zone: number): void {
    this.forget(zone, this.zoneState(zone));
  }

  /** Stages a node of a served zone: new, or in place of the one with this name. */
  putNode(zone: number, source: NodeSource): void {
    const { hash, node } = this.append(zone, source);
    this.staged.push({ zone, hash, name: source.owner, node });
  }

  /** Stages the disappearance of a name; does nothing if it is not there. */
  removeNode(zone: number, name: Uint8Array): void {
    this.staged.push({ zone, hash: hashName(this.buffers.seed, name), name, node: 0 });
  }

  /** Word offset of the node a name has after the last commit, or 0. */
  findNode(zone: number, name: Uint8Array): number {
    return this.reader.findNode(zone, hashName(this.buffers.seed, name), viewOf(name), 0, name.length);
  }

  /** Number of RRsets at a node found by `findNode`. */
  rrsetCount(node: number): number {
    return this.reader.words[node + 2]! >>> 16;
  }

  /** Makes everything staged visible at once. Returns the sequence after it. */
  commit(): number {
    this.makeSlotRoom(this.staged.length);
    this.makeZoneRoom(this.stagedZones.length);
    const control = this.reader.control;
    const touched = new Set<ZoneState>();
    Atomics.add(control, Control.sequence, 1);
    for (const staged of this.staged) touched.add(this.switchNode(staged));
    for (const state of touched) this.storeCounts(state);
    for (const apply of this.stagedZones) apply();
    const sequence = Atomics.add(control, Control.sequence, 1) + 1;
    Atomics.notify(control, Control.sequence);
    this.staged = [];
    this.stagedZones = [];
    if (this.garbage > MIN_GARBAGE && this.garbage > this.used / 2) this.rebuild(0, 0);
    return sequence;
  }

  private zoneState(zone: number): ZoneState {
    const state = this.zones.get(zone);
    invariant(state, `zone number ${zone} is known`);
    return state;
  }

  private append(zone: number, source: NodeSource): { hash: number; flags: number; node: number } {
    const { words, hash, flags } = compileNode(source, zone, this.buffers.seed);
    this.makeHeapRoom(words.length);
    const node = this.used;
    this.reader.words.set(words, node);
    this.used += words.length;
    this.zoneState(zone).words += words.length;
    return { hash, flags, node };
  }

  private switchNode({ zone, hash, name, node }: StagedNode): ZoneState {
    const { slots, words } = this.reader;
    const state = this.zoneState(zone);
    const old = this.reader.findNode(zone, hash, viewOf(name), 0, name.length);
    if (name.length === state.apex.length) state.apexNode = node;
    if (old === 0) {
      if (node !== 0) {
        this.fillSlot(zone, hash, node);
        this.count(state, (words[node + 2]! >>> 8) & 0xff, 1);
      }
      return state;
    }
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift()) * SLOT_WORDS;
    while (slots[index + 1] !== old) index = (index + SLOT_WORDS) & mask;
    Atomics.store(slots, index + 1, node === 0 ? REMOVED_SLOT : node);
    this.count(state, (words[old + 2]! >>> 8) & 0xff, -1);
    if (node !== 0) this.count(state, (words[node + 2]! >>> 8) & 0xff, 1);
    this.garbage += words[old + 3]!;
    state.words -= words[old + 3]!;
    return state;
  }

  private slotShift(): number {
    return Math.clz32(this.reader.slots.length / SLOT_WORDS) + 1;
  }

  private fillSlot(zone: number, hash: number, node: number): void {
    const { filter, slots } = this.reader;
    const mask = slots.length - 1;
    let index = slotOf(hash, zone, this.slotShift()) * SLOT_WORDS;
    while (slots[index + 1] !== EMPTY_SLOT) index = (index + SLOT_WORDS) & mask;
    const bit = filterBit(hash, zone);
    filter[bit >>> (Math.clz32(filter.length) + 1)]! |= 1 << (bit & 31);
    // The hash first: a reader looks at it only when the node is there.
    slots[index] = hash;
    Atomics.store(slots, index + 1, node);
    this.takenSlots++;
  }

  private count(state: ZoneState, flags: number, by: 1 | -1): void {
    state.nodes += by;
    if (flags & (Flag.cut | Flag.dname)) state.cuts += by;
    if (flags & Flag.wildcard) state.wildcards += by;
  }

  private storeCounts(state: ZoneState): void {
    if (state.record === 0) return;
    this.reader.words[state.record + ZoneWord.cuts] = state.cuts;
    this.reader.words[state.record + ZoneWord.wildcards] = state.wildcards;
    this.reader.words[state.record + ZoneWord.apexNode] = state.apexNode;
  }

  /** Room for it was made by `makeZoneRoom`. */
  private putZoneRecord(zone: number, state: ZoneState): number {
    const { words, bytes, zoneSlots, control } = this.reader;
    const hash = hashName(this.buffers.seed, state.apex);
    const labels = labelCount(state.apex);
    const record = this.used;
    words[record + ZoneWord.hash] = hash;
    words[record + ZoneWord.name] = state.apex.length | (labels << 8);
    words[record + ZoneWord.number] = zone;
    bytes.set(state.apex, (record + ZONE_HEADER) * 4);
    this.used += ZONE_HEADER + ((state.apex.length + 3) >>> 2);
    if (labels < control[Control.zoneMinLabels]!) Atomics.store(control, Control.zoneMinLabels, labels);
    if (labels > control[Control.zoneMaxLabels]!) Atomics.store(control, Control.zoneMaxLabels, labels);
    const mask = zoneSlots.length - 1;
    let index = slotOf(hash, 0, Math.clz32(zoneSlots.length) + 1);
    while (zoneSlots[index] !== EMPTY_SLOT) index = (index + 1) & mask;
    Atomics.store(zoneSlots, index, record);
    this.takenZoneSlots++;
    return record;
  }

  private forget(zone: number, state: ZoneState): void {
    this.garbage += state.words;
    this.zones.delete(zone);
  }

  private makeHeapRoom(count: number): void {
    if (this.used + count > this.reader.words.length) this.rebuild(count, 0);
  }

  private makeSlotRoom(count: number): void {
    if ((this.takenSlots + count) * 2 * SLOT_WORDS > this.reader.slots.length) this.rebuild(0, count);
  }

  private makeZoneRoom(count: number): void {
    const words = count * (ZONE_HEADER + 64);
    if ((this.takenZoneSlots + count) * 2 > this.reader.zoneSlots.length) this.rebuild(words, 0, count);
    else this.makeHeapRoom(words);
  }

  /** Copies all that lives into new buffers with room for more, and hands them to the readers. */
  private rebuild(moreWords: number, moreSlots: number, moreZones = 0): void {
    const old = this.reader;
    let nodes = 0;
    let alive = HEAP_START + moreWords;
    for (const state of this.zones.values()) {
      nodes += state.nodes;
      alive += state.words + ZONE_HEADER + 64;
    }
    for (const { node } of this.staged) if (node !== 0) alive += old.words[node + 3]!;
    invariant(alive < MAX_HEAP_WORDS, 'the image fits its address space');
    const buffers = allocate(
      this.buffers.generation + 1,
      this.buffers.seed,
      this.buffers.control,
      Math.min(MAX_HEAP_WORDS, Math.max(1 << 20, alive * 2)),
      powerOfTwo((nodes + this.staged.length + moreSlots) * 3),
      powerOfTwo((this.zones.size + moreZones) * 3),
    );
    this.moveTo(new ImageReader(buffers), buffers);
    // Posted first: a reader that sees the new number must find the buffers on its port.
    this.onGeneration(buffers);
    Atomics.store(this.reader.control, Control.generation, buffers.generation);
  }

  private moveTo(target: ImageReader, buffers: ImageBuffers): void {
    const { words, slots } = this.reader;
    const source = { words, slots };
    this.buffers = buffers;
    this.reader.adopt(buffers);
    this.used = HEAP_START;
    this.garbage = 0;
    this.takenSlots = 0;
    this.takenZoneSlots = 0;
    const copy = (node: number): number => {
      const size = source.words[node + 3]!;
      const to = this.used;
      target.words.set(source.words.subarray(node, node + size), to);
      this.used += size;
      return to;
    };
    for (let index = 1; index < source.slots.length; index += SLOT_WORDS) {
      const node = source.slots[index]!;
      if (node <= REMOVED_SLOT) continue;
      const zone = source.words[node + 1]!;
      const state = this.zones.get(zone);
      if (!state) continue;
      const to = copy(node);
      this.fillSlot(zone, source.words[node]!, to);
      if ((source.words[node + 2]! >>> 8) & Flag.apex) state.apexNode = to;
    }
    this.staged = this.staged.map((staged) => (staged.node === 0 ? staged : { ...staged, node: copy(staged.node) }));
    for (const [zone, state] of this.zones) {
      if (state.record === 0) continue;
      state.record = this.putZoneRecord(zone, state);
      this.storeCounts(state);
    }
  }
}
