/**
 * Plans a commit before any of it becomes visible: every word that will change, and the resulting zones. Everything
 * that can fail happens here; only storing the words remains.
 */
import { invariant } from '../base/errors.js';
import { applyMembers, closeIndex, type MemberChange, wordsForChanges } from './denial-index.js';
import { Control, NodeWord, nodeFlags, REMOVED_SLOT, viewOf, ZoneWord, zoneOfNode } from './layout.js';
import { type ImageTables, saltWords, zoneRecordWords } from './tables.js';
import {
  countNode,
  countWords,
  isMember,
  memberKey,
  type StagedNode,
  type StagedZone,
  saltOf,
  type ZoneState,
} from './zone-state.js';

export interface WordWrite {
  readonly words: Int32Array;
  /** Index inside the array. */
  readonly at: number;
  readonly value: number;
}

export interface CommitPlan {
  readonly writes: readonly WordWrite[];
  /** Slots whose nodes change. */
  readonly slots: readonly number[];
  /** Zones after the commit; undefined for those that are removed. */
  readonly zones: ReadonlyMap<number, ZoneState | undefined>;
  /** Number of empty slots that the commit fills. */
  readonly takenSlots: number;
  readonly takenZoneSlots: number;
}

interface Draft {
  readonly tables: ImageTables;
  readonly known: ReadonlyMap<number, ZoneState>;
  readonly zones: Map<number, ZoneState | undefined>;
  readonly writes: WordWrite[];
  readonly changedSlots: number[];
  /** Empty slots that will be filled, and those of zones. */
  readonly slots: Set<number>;
  readonly zoneSlots: Set<number>;
  /** Changes of denial chains, by zone number. */
  readonly members: Map<number, MemberChange[]>;
}

/**
 * Plans a commit on tables that have room for it. Every name is staged once. It writes only to parts of the tables that
 * no reader looks at.
 */
export function planCommit(
  tables: ImageTables,
  known: ReadonlyMap<number, ZoneState>,
  nodes: Iterable<StagedNode>,
  zones: Iterable<StagedZone>,
): CommitPlan {
  const draft: Draft = {
    tables,
    known,
    zones: new Map(),
    writes: [],
    changedSlots: [],
    slots: new Set(),
    zoneSlots: new Set(),
    members: new Map(),
  };
  for (const staged of nodes) planNode(draft, staged);
  for (const [zone, changes] of draft.members) planMembers(draft, zone, changes);
  for (const staged of zones) {
    if (staged.kind === 'publish') planPublication(draft, staged.zone, staged.replaced);
    else planRemoval(draft, staged.zone);
  }
  for (const state of draft.zones.values()) {
    if (!state || state.record === 0) continue;
    for (const [word, value] of countWords(state)) write(draft, tables.view.words, state.record + word, value);
  }
  return {
    writes: draft.writes,
    slots: draft.changedSlots,
    zones: draft.zones,
    takenSlots: draft.slots.size,
    takenZoneSlots: draft.zoneSlots.size,
  };
}

function planNode(draft: Draft, { zone, hash, name, node }: StagedNode): void {
  const { view } = draft.tables;
  const state = zoneOf(draft, zoneOfNode(zone));
  const old = view.findNode(zone, hash, viewOf(name), 0, name.length);
  if (name.length === state.apex.length) state.apexNode = node;
  let slot = -1;
  if (old !== 0) {
    slot = draft.tables.findSlot(zone, hash, old);
    write(draft, view.slots, slot + 1, node === 0 ? REMOVED_SLOT : node);
    countNode(state, nodeFlags(view.words, old), -1);
    state.words -= view.words[old + NodeWord.length]!;
  } else if (node !== 0) {
    slot = draft.tables.prepareSlot(zone, hash, draft.slots);
    draft.slots.add(slot);
    write(draft, view.slots, slot + 1, node);
  }
  if (slot >= 0) draft.changedSlots.push(slot);
  noteMember(draft, zoneOfNode(zone), name, old, node, slot);
  if (node === 0) return;
  countNode(state, nodeFlags(view.words, node), 1);
  state.words += view.words[node + NodeWord.length]!;
}

/** Notes a name that joins or leaves the chain; 0 for a node that does not exist. */
function noteMember(draft: Draft, zone: number, name: Uint8Array, old: number, node: number, slot: number): void {
  const { words } = draft.tables.view;
  const state = zoneOf(draft, zone);
  const was = old !== 0 && isMember(state, nodeFlags(words, old));
  const is = node !== 0 && isMember(state, nodeFlags(words, node));
  if (was === is) return;
  const changes = draft.members.get(zone) ?? [];
  draft.members.set(zone, changes);
  changes.push({ key: memberKey(state, name), slot: is ? slot : undefined });
}

function planMembers(draft: Draft, zone: number, changes: readonly MemberChange[]): void {
  const state = zoneOf(draft, zone);
  const index = applyMembers(draft.tables, closeIndex(draft.tables, state.index), changes);
  state.words += index.words - state.index.words;
  state.index = index;
}

function planPublication(draft: Draft, zone: number, replaced: number | undefined): void {
  const { tables } = draft;
  const state = zoneOf(draft, zone);
  planMembers(draft, zone, []);
  state.salt = tables.appendSalt(saltOf(state));
  state.words += zoneRecordWords(state.apex) + saltWords(saltOf(state));
  if (replaced !== undefined) {
    state.record = zoneOf(draft, replaced).record;
    write(draft, tables.view.words, state.record + ZoneWord.number, zone);
    draft.zones.set(replaced, undefined);
    return;
  }
  state.record = tables.appendZone(zone, state.apex);
  const index = tables.findZoneSlot(state.apex, draft.zoneSlots);
  draft.zoneSlots.add(index);
  write(draft, tables.view.zoneSlots, index, state.record);
}

function planRemoval(draft: Draft, zone: number): void {
  const { record } = zoneOf(draft, zone);
  const { tables } = draft;
  if (record !== 0) write(draft, tables.view.zoneSlots, tables.zoneSlotOf(record), REMOVED_SLOT);
  draft.zones.set(zone, undefined);
}

/** The mutable state of the zone after the commit. */
function zoneOf(draft: Draft, zone: number): ZoneState {
  const drafted = draft.zones.get(zone);
  if (drafted) return drafted;
  const state = draft.known.get(zone);
  invariant(state && !draft.zones.has(zone), `zone number ${zone} is known`);
  const copy = { ...state };
  draft.zones.set(zone, copy);
  return copy;
}

function write(draft: Draft, words: Int32Array, at: number, value: number): void {
  invariant(at >= 0 && at < words.length, 'a commit writes inside its buffers');
  draft.writes.push({ words, at, value });
}

/** Heap words that the denial indexes of the staged zones may need. */
export function indexRoom(
  known: ReadonlyMap<number, ZoneState>,
  nodes: Iterable<StagedNode>,
  zones: Iterable<StagedZone>,
): number {
  const changes = new Map<number, number>();
  const note = (zone: number, more: number): void => {
    if (known.get(zone)?.denial) changes.set(zone, (changes.get(zone) ?? 0) + more);
  };
  for (const { zone } of nodes) note(zoneOfNode(zone), 1);
  for (const { kind, zone } of zones) if (kind === 'publish') note(zone, 0);
  let words = 0;
  for (const [zone, count] of changes) words += wordsForChanges(known.get(zone)!.index, count);
  return words;
}

/**
 * Readers wait only during this function. Nothing in it can throw: the loop stores integers at offsets that the plan
 * has checked, and allocates nothing.
 */
export function switchWords(control: Int32Array, writes: readonly WordWrite[]): number {
  Atomics.add(control, Control.sequence, 1);
  for (let i = 0; i < writes.length; i++) {
    const { words, at, value } = writes[i]!;
    Atomics.store(words, at, value);
  }
  return Atomics.add(control, Control.sequence, 1) + 1;
}
