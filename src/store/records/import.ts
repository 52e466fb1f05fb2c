/** Writes of an import: hundreds of thousands of rows, then the rules for whole RRsets. */
import { perStore, type Store } from '../driver.js';
import { type PackedRows, UNPACKED } from './packed-rows.js';

/** Identifies an RRset of a set of records. */
export interface RRsetKey {
  readonly set: number;
  readonly ownerKey: Uint8Array;
  readonly type: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<[octets: Uint8Array, numbers: string, set: number, now: number]>(
    `INSERT INTO record_rows (${UNPACKED.list}, record_set, created_at, modified_at, comment_modified_at, tags_modified_at)
     SELECT ${UNPACKED.list}, record_set, now, now,
       CASE WHEN comment IS NULL THEN NULL ELSE now END, CASE WHEN tags IS NULL THEN NULL ELSE now END
     FROM ${UNPACKED.table}, (SELECT ? AS record_set, ? AS now) WHERE true ORDER BY start
     ON CONFLICT (record_set, owner_key, type, rdata_key) DO NOTHING`,
  ),
  notableAtApex: store.prepareTuples<[set: number, moreThan: number], [ownerKey: Uint8Array, type: number]>(
    `SELECT owner_key, type FROM record_rows WHERE record_set = ? AND owner_key = X'' GROUP BY type
     HAVING count(*) > ? OR count(*) <> max(seq) - min(seq) + 1`,
  ),
  /** The owner that is so many rows behind another one. */
  ahead: store.prepareTuples<[set: number, after: Uint8Array, rows: number], [ownerKey: Uint8Array]>(
    'SELECT owner_key FROM record_rows WHERE record_set = ? AND owner_key > ? ORDER BY owner_key LIMIT 1 OFFSET ?',
  ),
  notable: store.prepareTuples<
    [set: number, after: Uint8Array, upTo: Uint8Array, moreThan: number],
    [ownerKey: Uint8Array, type: number]
  >(
    `SELECT owner_key, type FROM record_rows WHERE record_set = ? AND owner_key > ? AND owner_key <= ?
     GROUP BY owner_key, type HAVING count(*) > ? OR count(*) <> max(seq) - min(seq) + 1`,
  ),
  facts: store.prepareTuples<
    [overhead: number, automatic: number, set: number, ownerKey: Uint8Array, type: number],
    [name: string, octets: number, ttl: number, ttls: number, lowest: number]
  >(
    // With a single min(), bare columns come from the row of the minimum (SQLite, "Bare columns in an aggregate").
    `SELECT name, sum(length(rdata) + ?), ttl, count(DISTINCT ttl), min(CASE ttl WHEN 1 THEN ? WHEN -1 THEN 1 ELSE ttl END)
     FROM record_rows WHERE record_set = ? AND owner_key = ? AND type = ?`,
  ),
  octetsUpTo: store.prepareTuples<
    [overhead: number, set: number, ownerKey: Uint8Array, type: number, rows: number],
    [octets: number | null]
  >(
    `SELECT sum(octets) FROM (SELECT length(rdata) + ? AS octets FROM record_rows
       WHERE record_set = ? AND owner_key = ? AND type = ? LIMIT ?)`,
  ),
  /** From one type to the next, so that the records of a type are not read. */
  types: store.prepareTuples<[set: number, ownerKey: Uint8Array, set: number, ownerKey: Uint8Array, than: number], [1]>(
    `WITH RECURSIVE types (type) AS (
       SELECT min(type) FROM record_rows WHERE record_set = ? AND owner_key = ?
       UNION ALL
       SELECT (SELECT min(type) FROM record_rows WHERE record_set = ? AND owner_key = ? AND type > types.type)
       FROM types WHERE type IS NOT NULL
     ) SELECT 1 FROM types WHERE type IS NOT NULL LIMIT 1 OFFSET ?`,
  ),
  setTtl: store.prepare<[ttl: number, set: number, ownerKey: Uint8Array, type: number]>(
    'UPDATE record_rows SET ttl = ? WHERE record_set = ? AND owner_key = ? AND type = ?',
  ),
}));

/**
 * Stores rows in a set, with creation time `now`; returns how many. Not stored are those whose owner already has a record with the
 * same type and data.
 */
export function storePacked(store: Store, set: number, now: number, { octets, numbers }: PackedRows): number {
  return statements(store).insert.run(octets, numbers, set, now).changes;
}

/** Rows among which one step looks for notable RRsets; it takes some tenths of a millisecond. */
const LOOKED_AT = 500;
const APEX_KEY = new Uint8Array(0);
/** Sorts after every owner key. */
const LAST_KEY = Buffer.alloc(256, 0xff);

/**
 * RRsets to which rules about whole sets may apply, a part of the set at a time: those with more records than `moreThan`, or whose
 * records were not written consecutively. The index alone answers this.
 */
export function* notableSets(store: Store, set: number, moreThan: number): Generator<RRsetKey[]> {
  const { ahead, notable, notableAtApex } = statements(store);
  const keysOf = (found: readonly (readonly [ownerKey: Uint8Array, type: number])[]): RRsetKey[] =>
    found.map(([ownerKey, type]) => ({ set, ownerKey, type }));
  yield keysOf(notableAtApex.all(set, moreThan));
  for (let after: Uint8Array = APEX_KEY; ; ) {
    const upTo = ahead.get(set, after, LOOKED_AT)?.[0] ?? LAST_KEY;
    yield keysOf(notable.all(set, after, upTo, moreThan));
    if (upTo === LAST_KEY) return;
    after = upTo;
  }
}

/** Octets of the records of an RRset, plus `overhead` for each; those behind `rows` records are not counted. */
export function octetsOfSet(store: Store, { set, ownerKey, type }: RRsetKey, overhead: number, rows: number): number {
  return statements(store).octetsUpTo.get(overhead, set, ownerKey, type, rows)?.[0] ?? 0;
}

/** Whether a name of the set has records of more types than so many. */
export function hasMoreTypes(store: Store, set: number, ownerKey: Uint8Array, than: number): boolean {
  return statements(store).types.get(set, ownerKey, set, ownerKey, than) !== undefined;
}

export interface SetFacts {
  readonly name: string;
  /** Octets of the records, plus `overhead` for each. */
  readonly octets: number;
  /** The lowest TTL when the records differ. */
  readonly lowestTtl: number | undefined;
}

/** The TTL for `automatic` is in seconds. */
export function factsOfSet(
  store: Store,
  { set, ownerKey, type }: RRsetKey,
  overhead: number,
  automatic: number,
): SetFacts {
  const [name, octets, ttl, ttls] = statements(store).facts.get(overhead, automatic, set, ownerKey, type)!;
  return { name, octets, lowestTtl: ttls > 1 ? ttl : undefined };
}

/** Gives this TTL, in seconds, to all records of the set. */
export function setTtlOfSet(store: Store, { set, ownerKey, type }: RRsetKey, ttl: number): void {
  statements(store).setTtl.run(ttl, set, ownerKey, type);
}
