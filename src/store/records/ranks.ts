/**
 * The records of a large zone by their number in canonical order, for pages. SQLite finds the n-th entry of an index by passing all
 * before it. So a handle that only reads keeps every thousandth place of the zones that it was asked for last. The journal says
 * what has changed since; where it does not, the places are found again.
 */
import { toHex } from '../../base/bytes.js';
import { perStore, type Store } from '../driver.js';
import { type EditedRecord, newestEdits, recordsEditedAfter } from '../log/edits.js';
import { isShadowed } from './owner-index.js';
import { COLUMNS_OF_ZONE, findRecord, type RecordRow, SET_OF_ZONE } from './records.js';

type RecordPlace = Pick<RecordRow, 'owner_key' | 'type' | 'rdata_key'>;
type Place = readonly [ownerKey: Uint8Array, type: number, rdataKey: Uint8Array];

interface Ranks {
  readonly recordSet: number;
  /** The newest edit that is counted in. */
  readonly edit: { readonly seq: number; readonly version: number; readonly at_us: number };
  /** In canonical order. Their records may be gone. */
  readonly marks: Place[];
  /** Records from each mark to the next; none for the last one. */
  readonly rows: number[];
}

/** Records between two marks when they are found. */
const STEP = 1000;
/** Between marks that have moved so far apart, passing records takes too long. */
const FAR = 8 * STEP;
/** After more edits, or edited records, counting takes no longer than reading the journal. */
const MOST_EDITS = 500;
const MOST_EDITED = 2000;
/** Zones of which a handle keeps the marks: some hundred octets for a thousand records. */
const MOST_ZONES = 16;
/** Before all places. */
const START: Place = [new Uint8Array(0), -1, new Uint8Array(0)];

const FROM = `FROM record_rows INDEXED BY records_owner WHERE record_set = ${SET_OF_ZONE}
  AND (owner_key, type, rdata_key) >= (?, ?, ?) ORDER BY owner_key, type, rdata_key`;

const statements = perStore((store) => ({
  zone: store.prepareTuples<[zone: number], [recordSet: number, version: number]>(
    'SELECT record_set, version FROM zones WHERE seq = ?',
  ),
  ahead: store.prepareTuples<[zone: number, ...Place, rows: number], Place>(
    `SELECT owner_key, type, rdata_key ${FROM} LIMIT 1 OFFSET ?`,
  ),
  page: store.prepare<[zone: number, inZone: number, ...Place, limit: number, skipped: number], RecordRow>(
    `SELECT ${COLUMNS_OF_ZONE} ${FROM} LIMIT ? OFFSET ?`,
  ),
}));

/** By zone, the one that was asked for last at the end. */
const known = perStore(() => new Map<number, Ranks>());

/** Whether pages far behind the start are found by marks. Only what is committed counts, and views have no index. */
export function keepsRanks(store: Store): boolean {
  return store.readonly && !isShadowed(store);
}

/** `limit` records in canonical order after the first `skipped`. The store must be in one read transaction. */
export function recordsFrom(store: Store, zone: number, skipped: number, limit: number): RecordRow[] {
  const ranks = ranksOf(store, zone);
  const { ahead, page } = statements(store);
  const { marks, rows } = ranks;
  let left = skipped;
  for (let at = 0; ; at++) {
    if (at === rows.length) {
      const next = left < STEP ? undefined : ahead.get(zone, ...marks[at]!, STEP);
      if (!next) return page.all(zone, zone, ...marks[at]!, limit, left);
      marks.push(next);
      rows.push(STEP);
    }
    if (left < rows[at]!) return page.all(zone, zone, ...marks[at]!, limit, left);
    left -= rows[at]!;
  }
}

function ranksOf(store: Store, zone: number): Ranks {
  const all = known(store);
  const [recordSet, version] = statements(store).zone.get(zone)!;
  const before = all.get(zone);
  all.delete(zone);
  const ranks = (before?.recordSet === recordSet && moveOn(store, zone, before, version)) || {
    recordSet,
    edit: newestEdits(store, zone, 1)[0] ?? { seq: 0, version: 0, at_us: 0 },
    marks: [START],
    rows: [],
  };
  all.set(zone, ranks);
  if (all.size > MOST_ZONES) all.delete(all.keys().next().value!);
  return ranks;
}

/** Counts what later edits have added and removed; undefined when they are not all known. */
function moveOn(store: Store, zone: number, ranks: Ranks, version: number): Ranks | undefined {
  const { edit } = ranks;
  const later = version - edit.version;
  if (later < 0 || later > MOST_EDITS) return undefined;
  const edits = newestEdits(store, zone, later + 1);
  const last = edits.at(-1);
  const areKept = edits.every(({ complete }, i) => complete === 1 || i === later);
  if (!areKept || edits.length !== later + 1 || last!.seq !== edit.seq || last!.at_us !== edit.at_us) return undefined;
  if (later === 0) return ranks;
  const edited = firstStates(recordsEditedAfter(store, zone, edit.seq));
  if (!edited) return undefined;
  for (const { id, was } of edited) {
    if (was) count(ranks, was, -1);
    const row = findRecord(store, zone, id);
    if (row) count(ranks, row, 1);
  }
  return ranks.rows.some((rows) => rows < 0 || rows > FAR) ? undefined : { ...ranks, edit: edits[0]! };
}

/** Each record as it was before all edits, which come newest first; undefined when there are too many. */
function firstStates(edited: Iterable<EditedRecord>): Iterable<EditedRecord> | undefined {
  const first = new Map<string, EditedRecord>();
  let read = 0;
  for (const one of edited) {
    if (++read > MOST_EDITED) return undefined;
    first.set(toHex(one.id), one);
  }
  return first.values();
}

function count({ marks, rows }: Ranks, { owner_key, type, rdata_key }: RecordPlace, more: number): void {
  const place: Place = [owner_key, type, rdata_key];
  let at = 0;
  for (let end = marks.length; end - at > 1; ) {
    const middle = (at + end) >>> 1;
    if (compare(marks[middle]!, place) <= 0) at = middle;
    else end = middle;
  }
  // What stands behind the last mark is not counted yet.
  if (at < rows.length) rows[at]! += more;
}

function compare(one: Place, other: Place): number {
  return Buffer.compare(one[0], other[0]) || one[1] - other[1] || Buffer.compare(one[2], other[2]);
}
