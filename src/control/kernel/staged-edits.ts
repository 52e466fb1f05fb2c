/**
 * Many edits of one zone's records that are stored before they happen: new rows in a set of records that no zone has, their
 * journal, and their events if there are very many, in an edit that belongs to no zone. The commit only moves rows from set to
 * set, so other writes wait for a moment. If so many rows would move that the moment would be long, the set gets copies of all other
 * records, too, and the commit gives it to the zone. For a dry run nothing is stored, unless it is very large: its commit writes
 * the zone's rows, and is undone.
 */

import { UserError } from '../../base/errors.js';
import { betweenWrites, inSlices, inWrites, nextSlice } from '../../base/slices.js';
import { Type } from '../../dns/codes.js';
import { ownerText } from '../../serving/difference.js';
import { signatureState } from '../../serving/zone-state.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { appendEditedRecords, type EditedRecord, removeStagedEdit, stageEdit } from '../../store/log/edits.js';
import { appendStagedEvents, countStagedEvents, type PlannedEvent, stageEvents } from '../../store/log/events.js';
import { rowsOfSet } from '../../store/records/compare.js';
import { copyRecords, moveRecords, moveSomeRecords, stageRecord } from '../../store/records/moves.js';
import { dropRecordSet, stageRecordSet, touchRecordSet, useRecordSet } from '../../store/records/record-sets.js';
import {
  insertRecord,
  isSamePlace,
  type NewRecordRow,
  removeRecord,
  updateRecord,
} from '../../store/records/records.js';
import { updateZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from './context.js';
import type { EventEntry } from './event.js';
import { planEvents } from './outbox.js';
import type { RecordChange } from './record-edits.js';
import { noteOwner, type TouchedOwner, type TouchedZone, touchZone } from './touched-zone.js';
import { planRemoval, planRemovalOfAbandoned, planTelling } from './unused-records.js';

/** Edits that are ready for their write. */
export interface ReadyEdits {
  readonly changes: readonly RecordChange[];
  /** Undefined: the write writes the rows of the zone. */
  readonly staged: StagedRows | undefined;
  /** Events that the write appends. */
  readonly events: readonly PlannedEvent[];
  /** Records added, less those removed. */
  readonly records: number;
  readonly proxied: boolean;
  /** What the touched owners served; if there are very many, only those that {@link isWatched} says. */
  readonly owners: readonly TouchedOwner[];
  readonly complete: boolean;
}

interface StagedRows {
  /** The set with the new rows. */
  readonly set: number;
  /** Whether it has all records that the zone will have. */
  readonly isWhole: boolean;
  /** Numbers of the rows that are removed. */
  readonly gone: readonly number[];
  /** Number of the edit in the journal. */
  readonly edit: number;
  /** Number of parts in which the edit also has the events; 0: the write appends them. */
  readonly parts: number;
}

/** The commit of a dry run writes no more rows than this, in some milliseconds. */
export const MOST_TRIED = 500;

/**
 * Prepares these changes of a zone outside of a write, and stores what they need. `zone`: its row, which must not have changed
 * when they happen. `entries`: the events of the edits; `isPlanned`: what they change for resolvers was found out already.
 */
export async function prepareEdits(
  ctx: Context,
  zone: ZoneRow,
  { changes, entries }: { readonly changes: readonly RecordChange[]; readonly entries: readonly EventEntry[] },
  isPlanned: boolean,
): Promise<ReadyEdits> {
  const { owners, complete } = await ownersOf(ctx, zone, changes, isPlanned);
  await nextSlice();
  // Nobody would read the events of a dry run.
  const events = ctx.dryRun ? [] : await inSlices(ctx.clock, planEvents(ctx, entries));
  await nextSlice();
  const staged = ctx.dryRun && changes.length <= MOST_TRIED ? undefined : await stageRows(ctx, zone, changes, events);
  return {
    changes,
    staged,
    events: staged && staged.parts > 0 ? [] : events,
    records: changes.reduce((sum, { before, after }) => sum + (after ? 1 : 0) - (before ? 1 : 0), 0),
    proxied: changes.some(({ after }) => after?.proxied === 1),
    owners,
    complete,
  };
}

async function stageRows(
  ctx: Context,
  zone: ZoneRow,
  changes: readonly RecordChange[],
  events: readonly PlannedEvent[],
): Promise<StagedRows> {
  const { store, clock } = ctx;
  const now = clock.nowUs();
  const journal = changes.map(
    ({ before, after }): EditedRecord => ({ id: (before ?? after)!.id, was: before ?? null }),
  );
  const gone = changes.flatMap(({ before }) => before?.seq ?? []);
  const rows = changes.flatMap(({ after }) => after ?? []);
  const parts = events.length > FEW_EVENTS ? partsOf(events) : [];
  const isWhole = isWorthCopying(changes.length, zone.record_count - gone.length);
  const { set, edit } = await store.write(() => {
    planRemovalOfAbandoned(ctx);
    return { set: stageRecordSet(store, now), edit: stageEdit(store, emptyEdit(ctx, now), journal.length) };
  });
  await betweenWrites();
  await storeAll(ctx, set, [
    storing(rows, (row) => stageRecord(store, set, row)),
    storing(journal, (record, i) => appendEditedRecords(store, edit, i, [record])),
    storing(parts, (part, i) => stageEvents(store, edit, i, part), 1),
  ]);
  if (isWhole) await copyKept(ctx, zone, set, new Set(gone));
  return { set, isWhole, gone, edit, parts: parts.length };
}

/** Appending fewer events, which are prepared, takes some milliseconds. */
export const FEW_EVENTS = 1000;
/** Events of one part. */
const EVENTS_AT_ONCE = 64;

function partsOf(events: readonly PlannedEvent[]): (readonly PlannedEvent[])[] {
  const count = Math.ceil(events.length / EVENTS_AT_ONCE);
  return Array.from({ length: count }, (_, i) => events.slice(i * EVENTS_AT_ONCE, (i + 1) * EVENTS_AT_ONCE));
}

/**
 * Appends the events of staged edits that have happened. What the same account writes meanwhile comes behind them, and other accounts
 * do not wait.
 */
export async function tellStaged(ctx: Pick<Context, 'store' | 'clock'>): Promise<void> {
  await betweenWrites();
  await inWrites(
    ctx,
    true,
    (isLeft) => isLeft,
    () => appendStagedEvents(ctx.store),
  );
}

/** Moving fewer rows takes some milliseconds. */
const FEW_MOVED = 1000;
/** Moving more would take some tenths of a second. */
const MOST_MOVED = 10_000;
/** Of a zone with more than this many times as many other records, copying would take much longer than moving. */
const MOST_TIMES = 10;

function isWorthCopying(moved: number, kept: number): boolean {
  return moved > FEW_MOVED && (moved > MOST_MOVED || kept <= MOST_TIMES * moved);
}

/** Rows that one statement copies. */
const COPIED_AT_ONCE = 16;

/** Copies the records of a zone, apart from some rows. */
async function copyKept(ctx: Context, zone: ZoneRow, set: number, gone: ReadonlySet<number>): Promise<void> {
  const { store, clock } = ctx;
  const parts: number[][] = [];
  const readAll = function* (): Generator<undefined, void> {
    for (const row of rowsOfSet(store, zone.record_set)) {
      if (!gone.has(row.seq)) {
        const part = parts.at(-1);
        if (part && part.length < COPIED_AT_ONCE) part.push(row.seq);
        else parts.push([row.seq]);
      }
      yield;
    }
  };
  await inSlices(clock, readAll());
  await storeAll(ctx, set, [storing(parts, (part) => copyRecords(store, set, part))]);
}

function emptyEdit({ actor, requestId, source }: Context, now: number): Parameters<typeof stageEdit>[1] {
  const none = { version: 0, complete: 0, change: null, serial_from: null, serial_to: 0, event: null };
  const by = { actor: actor.email, actor_kind: actor.kind, source, request_id: requestId };
  return { ...none, ...by, at_us: now, kind: 'records' };
}

/** What the touched owners serve before the changes. */
async function ownersOf(
  { store, clock, settings }: Context,
  zone: ZoneRow,
  changes: readonly RecordChange[],
  isPlanned: boolean,
): Promise<Pick<ReadyEdits, 'owners' | 'complete'>> {
  const { keys, watched } = await inSlices(clock, keysOf(changes));
  // Signatures are made for the owners that are known.
  const isFew = !isPlanned && (signatureState(zone) !== 'none' || keys.size <= MOST_CHANGED_RRS);
  const touched = touchZone(store, zone, settings);
  await inSlices(
    clock,
    (function* (): Generator<undefined, void> {
      for (const key of (isFew ? keys : watched).values()) {
        noteOwner(store, touched, key).edited = true;
        yield;
      }
    })(),
  );
  return { owners: [...touched.owners.values()], complete: isFew || isPlanned };
}

/** The owners of changed records, and those among them that {@link isWatched} says. */
function* keysOf(
  changes: readonly RecordChange[],
): Generator<undefined, Record<'keys' | 'watched', ReadonlyMap<string, Uint8Array>>> {
  const keys = new Map<string, Uint8Array>();
  const watched = new Map<string, Uint8Array>();
  for (const { before, after } of changes) {
    for (const row of [before, after]) {
      if (!row) continue;
      const text = ownerText(row.owner_key);
      keys.set(text, row.owner_key);
      if (isWatched(row)) watched.set(text, row.owner_key);
    }
    yield;
  }
  return { keys, watched };
}

/**
 * Whether a commit looks at the owner of a record in any case: CNAMEs may be flattened, and not every name may be delegated.
 */
function isWatched({ type, name }: Pick<NewRecordRow, 'type' | 'name'>): boolean {
  return type === Type.cname || (type === Type.ns && name.startsWith('*.'));
}

/** Items that are stored between two looks at the clock, if they are small. */
const STORED_AT_ONCE = 16;

/** Items of one kind that are stored for a set. */
interface Storing {
  readonly count: number;
  readonly atOnce: number;
  store(index: number): void;
}

function storing<Item>(
  items: readonly Item[],
  storeItem: (item: Item, index: number) => void,
  atOnce = STORED_AT_ONCE,
): Storing {
  return { count: items.length, atOnce, store: (index) => storeItem(items[index]!, index) };
}

/** Stores items for a set, one kind after the other, in writes of some milliseconds. */
async function storeAll(ctx: Context, set: number, kinds: readonly Storing[]): Promise<void> {
  const { store, clock } = ctx;
  const left = kinds.filter(({ count }) => count > 0);
  await inWrites(
    ctx,
    { kind: 0, at: 0 },
    ({ kind }) => kind < left.length,
    ({ kind, at }) => {
      const { count, atOnce, store: storeItem } = left[kind]!;
      touchRecordSet(store, set, clock.nowUs());
      const end = Math.min(at + atOnce, count);
      for (let i = at; i < end; i++) storeItem(i);
      return end < count ? { kind, at: end } : { kind: kind + 1, at: 0 };
    },
  );
}

/** Makes the edits, inside a write, step by step. */
export function* takeReady(ctx: Context, touched: TouchedZone, ready: ReadyEdits): Generator<undefined, void> {
  for (const owner of ready.owners) touched.owners.set(ownerText(owner.ownerKey), owner);
  if (!ready.complete) touched.complete = false;
  touched.records += ready.records;
  touched.proxied ||= ready.proxied;
  if (ready.staged) yield* takeStaged(ctx, touched, ready.staged);
  else writeRows(ctx, ready.changes);
}

/** Moves the rows, or gives the zone the set. */
function* takeStaged(
  ctx: Context,
  touched: TouchedZone,
  { set, isWhole, gone, edit, parts }: StagedRows,
): Generator<undefined, void> {
  const { store, clock } = ctx;
  const { before } = touched;
  touched.stagedEdit = edit;
  if (!useRecordSet(store, set) || countStagedEvents(store, edit) < parts) {
    throw new UserError('the edit stood still for so long that its records were removed', 'Start it again.');
  }
  if (parts > 0) planTelling(ctx);
  if (isWhole) {
    updateZone(store, before.seq, { record_set: set });
    if (!dropRecordSet(store, before.record_set)) planRemoval(ctx);
    return;
  }
  const removed = stageRecordSet(store, clock.nowUs());
  for (let at = 0; at < gone.length; at += MOVED_AT_ONCE) {
    moveRecords(store, gone.slice(at, at + MOVED_AT_ONCE), removed);
    yield;
  }
  while (moveSomeRecords(store, set, before.record_set, MOVED_AT_ONCE)) yield;
  for (const old of [set, removed]) if (!dropRecordSet(store, old)) planRemoval(ctx);
}

/** Rows that one statement moves. */
const MOVED_AT_ONCE = 100;

/** First those that go: a record may take the place of another. */
function writeRows({ store }: Context, changes: readonly RecordChange[]): void {
  const isKept = ({ before, after }: RecordChange) => before && after && isSamePlace(before, after);
  for (const change of changes) if (change.before && !isKept(change)) removeRecord(store, change.before.seq);
  for (const change of changes) {
    const { before, after } = change;
    if (before && after && isKept(change)) updateRecord(store, before, { ...after, seq: before.seq });
    else if (after) insertRecord(store, after);
  }
}

/** Removes what was stored for edits that do not happen. */
export async function giveUpEdits(ctx: Context, { staged }: ReadyEdits): Promise<void> {
  const { store } = ctx;
  if (!staged) return;
  await store.write(() => {
    if (!dropRecordSet(store, staged.set)) planRemoval(ctx);
  });
  await inWrites(
    ctx,
    true,
    (isLeft) => isLeft,
    () => removeStagedEdit(store, staged.edit, REMOVED_AT_ONCE),
  );
}

/** Records of the journal that are removed between two looks at the clock. */
const REMOVED_AT_ONCE = 100;
