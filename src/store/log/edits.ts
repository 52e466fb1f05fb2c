/**
 * The journal of zones: what each commit did to a zone's records, so that it can be undone. Undoing the newest edits
 * one by one restores the records of any point in time that the journal reaches back to.
 */

import { fromHex, toHex } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import { allRows, column, columns, oneRow, type RowOf, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import type { NewRecordRow } from '../records/records.js';
import { countStagedEvents } from './events.js';
import { entriesToPrune } from './prune.js';

export type EditKind = 'added' | 'records' | 'settings' | 'replaced';

/**
 * What happened to a zone as a whole: it is answered, or no longer; signatures are being made, or are served, or no longer.
 */
export type EditEvent = 'served' | 'withdrawn' | 'signing' | 'signed' | 'unsigned';

const EDIT = columns({
  /** Store number of the zone, which may be deleted. */
  zone: column<number>(),
  /** The zone's version after the edit. */
  version: column<number>(),
  at_us: column<number>(),
  kind: column<EditKind>(),
  /** 0: the previous content of the zone is not kept. */
  complete: column<number>(),
  /** Number in the change log; null when the edit changed nothing for resolvers. */
  change: column<number | null>(),
  /** Null for a new zone. */
  serial_from: column<number | null>(),
  serial_to: column<number>(),
  actor: column<string>(),
  actor_kind: column<string>(),
  source: column<string>(),
  request_id: column<string>(),
  event: column<EditEvent | null>(),
});

export interface EditRow extends RowOf<typeof EDIT> {
  readonly seq: number;
}

/** A record that an edit touched, and its previous row; null when it was new. */
export interface EditedRecord {
  readonly id: Uint8Array;
  readonly was: NewRecordRow | null;
}

export type NewEdit = RowOf<typeof EDIT>;

/** Limits of kept edits and of the records in them; older edits are removed in batches. */
const KEPT_EDITS = 200_000;
const KEPT_RECORDS = 2_000_000;
const PRUNE_EVERY = 500;

/** What is known of an edit only when it happens, if it was stored before. */
const FINISHED = EDIT.only('zone', 'version', 'at_us', 'complete', 'change', 'serial_from', 'serial_to', 'event');

const writes = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(
    `INSERT INTO zone_edits (${EDIT.list}, records_total) VALUES (${EDIT.marks},
       ? + coalesce((SELECT records_total FROM zone_edits ORDER BY seq DESC LIMIT 1), 0))`,
  ),
  insertRecord: store.prepare<[edit: number, ord: number, id: Uint8Array, was: string | null]>(
    'INSERT INTO edited_records (edit, ord, id, was) VALUES (?, ?, ?, ?)',
  ),
  finish: store.prepare<SqlValue[]>(`UPDATE zone_edits SET ${FINISHED.assignments} WHERE seq = ?`),
  removeRecords: store.prepare<[edit: number, ofEdit: number, limit: number]>(
    `DELETE FROM edited_records WHERE edit = ? AND ord IN (SELECT ord FROM edited_records WHERE edit = ? ORDER BY ord LIMIT ?)`,
  ),
  removeStaged: store.prepare<[seq: number]>('DELETE FROM zone_edits WHERE seq = ? AND zone = 0'),
  countRecords: store.prepare<[more: number]>("UPDATE meta SET value = value + ? WHERE name = 'edited_records'"),
  pruneRecords: store.prepare<[seq: number]>('DELETE FROM edited_records WHERE edit = ?'),
  prune: store.prepare<[seq: number]>('DELETE FROM zone_edits WHERE seq = ?'),
  setKeptFrom: store.prepare<[edit: number, edit: number]>(
    `UPDATE zones SET history_from = (SELECT at_us FROM zone_edits WHERE seq = ?)
     WHERE seq = (SELECT zone FROM zone_edits WHERE seq = ?)`,
  ),
}));

const statements = perStore((store) => ({
  ofChange: store.prepare<[change: number, zone: number], EditRow>(
    'SELECT * FROM zone_edits WHERE change = ? AND zone = ? ORDER BY seq DESC LIMIT 1',
  ),
  recordsAfter: store.prepareTuples<[zone: number, seq: number], [id: Uint8Array, was: string | null]>(
    `SELECT r.id, r.was FROM zone_edits e JOIN edited_records r ON r.edit = e.seq WHERE e.zone = ? AND e.seq > ?
     ORDER BY e.seq DESC, r.ord DESC`,
  ),
  editsAfter: store.prepareTuples<[zone: number, seq: number], [edit: number]>(
    'SELECT seq FROM zone_edits WHERE zone = ? AND seq > ? ORDER BY seq DESC',
  ),
  recordsOfEdit: store.prepareTuples<
    [edit: number, before: number, limit: number],
    [ord: number, id: Uint8Array, was: string | null]
  >('SELECT ord, id, was FROM edited_records WHERE edit = ? AND ord < ? ORDER BY ord DESC LIMIT ?'),
  begunSince: store.prepareTuples<[seq: number, sinceUs: number], [number]>(
    'SELECT 1 FROM zone_edits WHERE seq = ? AND zone = 0 AND at_us >= ?',
  ),
  records: store.prepareTuples<[], [number]>("SELECT value FROM meta WHERE name = 'edited_records'"),
  edits: store.prepareTuples<[], [number]>('SELECT count(*) FROM zone_edits'),
  ofZone: store.prepareTuples<[zone: number], [number | null]>('SELECT history_from FROM zones WHERE seq = ?'),
  keptFrom: store.prepareTuples<[], [number]>("SELECT value FROM meta WHERE name = 'history_from'"),
}));

/** Appends an edit and returns its number. Only the commit function calls it, inside its transaction. */
export function appendEdit(store: Store, edit: NewEdit, records: readonly EditedRecord[]): number {
  const seq = insertEdit(store, edit, records.length);
  appendEditedRecords(store, seq, 0, records);
  if (seq % PRUNE_EVERY === 0) pruneEdits(store, keptEdits(store), edit.at_us);
  return seq;
}

/** Appends records to an edit; `from`: the number of those that it has. */
export function appendEditedRecords(store: Store, edit: number, from: number, records: readonly EditedRecord[]): void {
  const { insertRecord } = writes(store);
  records.forEach(({ id, was }, i) => void insertRecord.run(edit, from + i, id, was && packRecord(was)));
}

function insertEdit(store: Store, edit: NewEdit, records: number): number {
  const { insert, countRecords } = writes(store);
  countRecords.run(records);
  return insert.run(...EDIT.values(edit), records).lastInsertRowid;
}

/** Numbers of zones begin with 1. */
const NO_ZONE = 0;
/** Milliseconds after which what was stored for an edit or an import that has not happened is removed: whoever made it has ended. */
export const ABANDONED_MS = 600_000;

/** Begins an edit whose records are stored before it happens; it belongs to no zone yet. Returns its number. */
export function stageEdit(store: Store, edit: Omit<NewEdit, 'zone'>, records: number): number {
  return insertEdit(store, { ...edit, zone: NO_ZONE }, records);
}

/** Makes a staged edit one of its zone. Only the commit function calls it, inside its transaction. */
export function finishEdit(store: Store, seq: number, edit: NewEdit): void {
  const { changes } = writes(store).finish.run(...FINISHED.values(edit), seq);
  if (changes === 0)
    throw new UserError('the edit stood still for so long that its journal was removed', 'Start it again.');
}

/** Removes some records of a staged edit that does not happen, and in the end the edit; false when nothing is left. */
export function removeStagedEdit(store: Store, seq: number, most: number): boolean {
  const { removeRecords, removeStaged, countRecords } = writes(store);
  const { changes } = removeRecords.run(seq, seq, most);
  countRecords.run(-changes);
  if (changes === most) return true;
  removeStaged.run(seq);
  return false;
}

/**
 * Removes edits beyond what is kept. One whose events are not appended yet stays: they would go with it. So does one that is being made: it
 * belongs to no zone yet, as if its zone were gone.
 */
export function pruneEdits(store: Store, kept: number, nowUs: number): void {
  const { pruneRecords, prune, setKeptFrom, countRecords } = writes(store);
  const { begunSince } = statements(store);
  for (const seq of entriesToPrune(store, { table: 'zone_edits', kept, newest: 1 }, nowUs)) {
    if (begunSince.get(seq, nowUs - ABANDONED_MS * 1000) || countStagedEvents(store, seq) > 0) continue;
    setKeptFrom.run(seq, seq);
    countRecords.run(-pruneRecords.run(seq).changes);
    prune.run(seq);
  }
}

/** Fewer edits are kept while they have too many records. */
function keptEdits(store: Store): number {
  const { records, edits } = statements(store);
  if ((records.get()?.[0] ?? 0) <= KEPT_RECORDS) return KEPT_EDITS;
  const count = edits.get()![0];
  return Math.max(Math.ceil(count / 2), count - 2 * PRUNE_EVERY);
}

/** The time from which the journal has every edit of a zone, in microseconds since 1970. */
export function historyKeptFrom(store: Store, zone: number): number {
  const { keptFrom, ofZone } = statements(store);
  return Math.max(keptFrom.get()?.[0] ?? 0, ofZone.get(zone)?.[0] ?? 0);
}

/** A zone's edits, the newest first. */
export const editsOfZone = allRows<[zone: number, limit: number, offset: number], EditRow>(
  'SELECT * FROM zone_edits WHERE zone = ? ORDER BY seq DESC LIMIT ? OFFSET ?',
);

/** What says whether edits are known, of the newest ones of a zone, newest first. */
export const newestEdits = allRows<
  [zone: number, limit: number],
  Pick<EditRow, 'seq' | 'version' | 'at_us' | 'complete'>
>('SELECT seq, version, at_us, complete FROM zone_edits WHERE zone = ? ORDER BY seq DESC LIMIT ?');

export const countEdits = theValue<[zone: number], number>('SELECT count(*) FROM zone_edits WHERE zone = ?');

/** The last edit after the one numbered `seq` that replaced all records of the zone, so that they are not kept. */
export const replacementAfter = oneRow<[zone: number, seq: number], EditRow>(
  'SELECT * FROM zone_edits WHERE zone = ? AND seq > ? AND complete = 0 ORDER BY seq DESC LIMIT 1',
);

/** Number of records that the edits after the one numbered `seq` touched; a record counts once for each edit. */
export const countRecordsEditedAfter = theValue<[zone: number, seq: number], number>(
  // Records of an edit are numbered from 0 on; counting them would read them all.
  `SELECT coalesce(sum((SELECT max(ord) + 1 FROM edited_records WHERE edit = e.seq)), 0) FROM zone_edits e
     WHERE e.zone = ? AND e.seq > ?`,
);

/** Records read in one step. */
const READ_AT_ONCE = 500;

/** {@link recordsEditedAfter} in parts, between which the handle may write. */
export function* partsOfRecordsEditedAfter(store: Store, zone: number, seq: number): Generator<EditedRecord[]> {
  const { editsAfter, recordsOfEdit } = statements(store);
  for (const [edit] of editsAfter.all(zone, seq)) {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = recordsOfEdit.all(edit, before, READ_AT_ONCE);
      if (rows.length === 0) break;
      yield rows.map(([, id, was]) => editedRecord(zone, id, was));
      before = rows.at(-1)![0];
    }
  }
}

/** The edit that caused this change; of several (control/kernel/ends/shared-ends.ts), the last one. */
export function findEditOfChange(store: Store, zone: number, change: number): EditRow | undefined {
  return statements(store).ofChange.get(change, zone);
}

/** The edit that created this version of the zone. */
export const findEditOfVersion = oneRow<[zone: number, version: number], EditRow>(
  'SELECT * FROM zone_edits WHERE zone = ? AND version = ?',
);

/** The last edit that left the zone with this serial. */
export const findEditOfSerial = oneRow<[zone: number, serial: number], EditRow>(
  'SELECT * FROM zone_edits WHERE zone = ? AND serial_to = ? ORDER BY seq DESC LIMIT 1',
);

/** The last edit up to a time, in microseconds since 1970. */
export const findEditAt = oneRow<[zone: number, atUs: number], EditRow>(
  'SELECT * FROM zone_edits WHERE zone = ? AND at_us <= ? ORDER BY seq DESC LIMIT 1',
);

/**
 * The records that the edits after the one numbered `seq` touched, the last one first: the order for undoing them. Reads
 * row by row; the handle must not write until the iteration has ended.
 */
export function* recordsEditedAfter(store: Store, zone: number, seq: number): Generator<EditedRecord> {
  for (const [id, was] of statements(store).recordsAfter.iterate(zone, seq)) {
    yield editedRecord(zone, id, was);
  }
}

function editedRecord(zone: number, id: Uint8Array, was: string | null): EditedRecord {
  return { id: new Uint8Array(id), was: was === null ? null : unpackRecord(was, zone) };
}

const OCTETS = ['id', 'owner_key', 'rdata', 'rdata_key'] as const;

function packRecord(row: NewRecordRow): string {
  const { seq: _, zone: __, ...columns } = row as NewRecordRow & { readonly seq?: number };
  const octets = OCTETS.map((column) => [column, toHex(row[column])]);
  return JSON.stringify({ ...columns, ...Object.fromEntries(octets) });
}

function unpackRecord(text: string, zone: number): NewRecordRow {
  const columns = JSON.parse(text) as Record<string, unknown>;
  const octets = OCTETS.map((column) => [column, fromHex(columns[column] as string)]);
  return { ...columns, ...Object.fromEntries(octets), zone } as unknown as NewRecordRow;
}
