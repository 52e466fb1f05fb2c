/**
 * Use cases of a zone's history: the changes and their actors, past records, and restoring them. A past state is
 * reconstructed by undoing later edits of the journal: for reading in temporary tables, for restoring in a write.
 */
import { equalBytes, toHex } from '../../base/bytes.js';
import { inSlices } from '../../base/slices.js';
import { findChange, rrsOfChange } from '../../store/log/changes.js';
import {
  countEdits,
  countRecordsEditedAfter,
  type EditedRecord,
  type EditRow,
  editsOfZone,
  findEditOfChange,
  partsOfRecordsEditedAfter,
  recordsEditedAfter,
  replacementAfter,
} from '../../store/log/edits.js';
import { openPastRecords, type PastRecords } from '../../store/records/past-records.js';
import type { NewRecordRow, RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';
import { commitEdits } from '../kernel/planned-edits.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { printDiff, type ZoneDiff } from '../kernel/zone-outcome.js';
import { printInstant } from '../rules/instant.js';
import { recordFailure } from '../rules/record-failures.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { type AsOf, editAt, findEdit, notKept, parseAsOf } from './as-of.js';

export interface EditItem {
  /** Its name for `as_of` and restore: the number of the change, or `version:N` when nothing changed for resolvers. */
  readonly id: string;
  readonly change: number | null;
  readonly version: number;
  readonly kind: EditRow['kind'];
  readonly event: EditRow['event'];
  /** Microseconds since 1970. */
  readonly at: number;
  readonly actor: { readonly email: string; readonly kind: string };
  readonly source: string;
  readonly requestId: string;
  readonly serialFrom: number | null;
  readonly serialTo: number;
  readonly diff: ZoneDiff;
}

export interface RestoreResult {
  readonly zoneId: string;
  readonly serial: number;
  readonly version: number;
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  readonly recordsChanged: number;
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 100;
/** The largest number of records to undo; going back further takes too long. */
const MOST_UNDONE = 100_000;

/** The newest edits first. Default 20 a page, at most 100. */
export async function listHistory(ctx: Context, zoneId: string, query: PageQuery): Promise<Page<EditItem>> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    const rows = editsOfZone(ctx.store, zone.seq, perPage, (page - 1) * perPage);
    const totalCount = countEdits(ctx.store, zone.seq);
    return { items: rows.map((row) => editItem(ctx, zone, row)), page, perPage, totalCount };
  });
}

/** One edit, by the number of its change or as `version:N`. Throws 404 when it is not kept. */
export async function getEdit(ctx: Context, zoneId: string, text: string): Promise<EditItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    const { unit, value } = parseAsOf(text);
    const edit = findEdit(ctx, zone, unit === 'version' || unit === 'serial' ? unit : 'change', value);
    if (!edit || unit === 'time') throw zoneFailure('changeMissing', { change: text.slice(0, 64) });
    return editItem(ctx, zone, edit);
  });
}

function editItem(ctx: Context, zone: ZoneRow, edit: EditRow): EditItem {
  return {
    id: idOf(ctx, zone, edit),
    change: edit.change,
    version: edit.version,
    kind: edit.kind,
    event: edit.event,
    at: edit.at_us,
    actor: { email: edit.actor, kind: edit.actor_kind },
    source: edit.source,
    requestId: edit.request_id,
    serialFrom: edit.serial_from,
    serialTo: edit.serial_to,
    diff: diffOf(ctx, zone, edit),
  };
}

/** The number of its change, unless a later edit is part of that change, too. */
function idOf({ store }: Context, { seq: zone }: ZoneRow, { seq, change, version }: EditRow): string {
  const isLast = change !== null && findEditOfChange(store, zone, change)?.seq === seq;
  return isLast ? String(change) : `version:${version}`;
}

/** What changed for resolvers. It is not kept for whole zones and for very many records at once. */
function diffOf({ store }: Context, { apex }: ZoneRow, edit: EditRow): ZoneDiff {
  if (edit.change === null) return printDiff(apex, [], true);
  const change = findChange(store, edit.change);
  return change ? printDiff(apex, rrsOfChange(store, change), change.complete === 1) : printDiff(apex, [], false);
}

/** Records that one step undoes. */
const UNDONE_AT_ONCE = 50;

/**
 * What `read` returns of the zone's records as they were at a moment (as-of.ts). Throws 404 when the moment lies outside
 * what is kept. `read` is synchronous and receives a context whose store shows the past. Reads nothing but a snapshot, in
 * short parts, so that nobody waits.
 */
export async function readAsOf<T>(ctx: Context, zoneId: string, asOf: string, read: (past: Context) => T): Promise<T> {
  const moment = parseAsOf(asOf);
  const past = openPastRecords(ctx.store, (store) => requireZone({ ...ctx, store }, zoneId));
  try {
    const then = { ...ctx, store: past.store };
    const zone = requireZone(then, zoneId);
    const seq = editAt(then, zone, moment);
    requireUndoable(then, zone, seq);
    await inSlices(ctx.clock, goBack(past, zone, seq));
    past.show();
    return read(then);
  } finally {
    past.close();
  }
}

/** Undoes the edits after the one numbered `seq`. */
function* goBack(past: PastRecords, zone: ZoneRow, seq: number): Generator<undefined, void> {
  // Newest first, so that the row before the oldest edit of a record remains.
  const records = new Map<string, EditedRecord>();
  for (const record of recordsEditedAfter(past.store, zone.seq, seq)) {
    records.set(toHex(record.id), record);
    yield;
  }
  const all = [...records.values()];
  for (let at = 0; at < all.length; at += UNDONE_AT_ONCE) {
    past.undo(all.slice(at, at + UNDONE_AT_ONCE));
    yield;
  }
}

/** Throws 404 when the edits after the one numbered `seq` cannot be undone. */
function requireUndoable({ store }: Context, zone: ZoneRow, seq: number): void {
  const replacement = replacementAfter(store, zone.seq, seq);
  if (replacement) {
    throw notKept(
      `All records were replaced at ${printInstant(replacement.at_us)}; the previous records are not kept.`,
    );
  }
  const count = countRecordsEditedAfter(store, zone.seq, seq);
  if (count > MOST_UNDONE) {
    throw notKept(`Since then ${count} records were changed; no more than ${MOST_UNDONE} can be undone at once.`);
  }
}

/**
 * Restores the zone's records to the state right after an edit, which is named as in `as_of`; a plain number is a
 * change. Settings stay unchanged. Throws 404 when the state is not kept.
 */
export async function restoreZone(ctx: Context, zoneId: string, text: string): Promise<RestoreResult> {
  const named = parseAsOf(text);
  const moment = named.unit === 'number' ? { ...named, unit: 'change' as const } : named;
  const find = (): ZoneRow => requireZone(ctx, zoneId);
  const zone = find();
  const done = await commitEdits(ctx, {
    size: countRecordsEditedAfter(ctx.store, zone.seq, editAt(ctx, zone, moment)),
    zone: find,
    work: (edits, current) => restore(ctx, edits, current, moment, text),
    read(counts, own): RestoreResult {
      const { serial, version } = requireZone({ ...own, precondition: {} }, zoneId);
      return { zoneId, serial, version, ...counts };
    },
  });
  return done.value;
}

function* restore(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  moment: AsOf,
  text: string,
): Generator<undefined, RestoreCounts> {
  const seq = editAt(ctx, zone, moment);
  requireUndoable(ctx, zone, seq);
  const counts = yield* bringBack(edits, zone, yield* recordsAt(ctx, zone, seq));
  const quota = ctx.settings.limits.recordsPerZone;
  if (quota !== undefined && counts.recordsAdded > 0 && edits.recordCount(zone) > quota) throw recordFailure('quota');
  const changed = counts.recordsAdded + counts.recordsRemoved + counts.recordsChanged;
  if (changed > 0) edits.event({ kind: 'zone.restore', zone, after: { to: text, ...counts } });
  return counts;
}

/** The records that later edits touched, as they were after the edit with number `seq`. */
function* recordsAt({ store }: Context, zone: ZoneRow, seq: number): Generator<undefined, EditedRecord[]> {
  // Newest first, so that the row before the oldest edit of a record remains.
  const past = new Map<string, EditedRecord>();
  for (const part of partsOfRecordsEditedAfter(store, zone.seq, seq)) {
    for (const record of part) {
      past.set(toHex(record.id), record);
      // A part of records takes as long as very many other steps, between which nobody would look at the clock.
      yield;
    }
  }
  return [...past.values()];
}

interface RestoreCounts {
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  readonly recordsChanged: number;
}

/** Removes all differing records before adding any, because two may have swapped places. */
function* bringBack(
  edits: RecordEdits,
  zone: ZoneRow,
  past: readonly EditedRecord[],
): Generator<undefined, RestoreCounts> {
  const pairs: { readonly was: NewRecordRow | null; readonly now: RecordRow | undefined }[] = [];
  for (const { id, was } of past) {
    const now = edits.find(zone, id);
    if (was === null ? now !== undefined : now === undefined || !sameRow(was, now)) pairs.push({ was, now });
    yield;
  }
  for (const { now } of pairs) {
    if (now) edits.removeRecord(now);
    yield;
  }
  for (const { was } of pairs) {
    if (was) edits.insertRecord(was);
    yield;
  }
  return {
    recordsAdded: pairs.filter(({ now }) => !now).length,
    recordsRemoved: pairs.filter(({ was }) => !was).length,
    recordsChanged: pairs.filter(({ was, now }) => was && now).length,
  };
}

function sameRow(was: NewRecordRow, now: NewRecordRow): boolean {
  return Object.entries(was).every(([column, value]) => {
    const other = now[column as keyof NewRecordRow];
    return value instanceof Uint8Array ? equalBytes(value, other as Uint8Array) : value === other;
  });
}
