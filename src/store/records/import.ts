/** Writes of an import: hundreds of thousands of rows, then the rules for whole RRsets. */
import { perStore, type Store } from '../driver.js';
import type { NewRecordRow } from './records.js';

/** The columns that come from a zone file. Consecutive rows of one owner share the objects of its key and name. */
export type ImportedRow = Pick<
  NewRecordRow,
  | 'owner_key'
  | 'name'
  | 'type'
  | 'content'
  | 'rdata'
  | 'rdata_key'
  | 'ttl'
  | 'proxied'
  | 'settings'
  | 'comment'
  | 'tags'
>;

/** Identifies an RRset; `zone` is a store number. */
export interface RRsetKey {
  readonly zone: number;
  readonly ownerKey: Uint8Array;
  readonly type: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<
    [
      id: Uint8Array,
      zone: number,
      ownerKey: Uint8Array,
      name: string,
      type: number,
      content: string,
      rdata: Uint8Array,
      rdataKey: Uint8Array,
      ttl: number,
      proxied: number,
      settings: string | null,
      comment: string | null,
      tags: string | null,
      createdAt: number,
      modifiedAt: number,
      commentModifiedAt: number | null,
      tagsModifiedAt: number | null,
    ]
  >(
    `INSERT INTO records (id, zone, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, settings, comment, tags,
       created_at, modified_at, comment_modified_at, tags_modified_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (zone, owner_key, type, rdata_key) DO NOTHING`,
  ),
  notable: store.prepareTuples<[zone: number, moreThan: number], [ownerKey: Uint8Array, type: number]>(
    `SELECT owner_key, type FROM records WHERE zone = ? GROUP BY owner_key, type
     HAVING count(*) > ? OR count(*) <> max(seq) - min(seq) + 1`,
  ),
  facts: store.prepareTuples<
    [overhead: number, automatic: number, zone: number, ownerKey: Uint8Array, type: number],
    [name: string, octets: number, ttl: number, ttls: number, lowest: number]
  >(
    // With a single min(), bare columns come from the row of the minimum (SQLite, "Bare columns in an aggregate").
    `SELECT name, sum(length(rdata) + ?), ttl, count(DISTINCT ttl), min(CASE ttl WHEN 1 THEN ? WHEN -1 THEN 1 ELSE ttl END)
     FROM records WHERE zone = ? AND owner_key = ? AND type = ?`,
  ),
  setTtl: store.prepare<[ttl: number, zone: number, ownerKey: Uint8Array, type: number]>(
    'UPDATE records SET ttl = ? WHERE zone = ? AND owner_key = ? AND type = ?',
  ),
}));

/**
 * Returns a function that stores a record of one zone with creation time `now`; it returns false when the owner already
 * has a record with the same type and data. The statement is looked up once, because an import stores hundreds of
 * thousands of records a second.
 */
export function recordImporter(store: Store, zone: number, now: number): (id: Uint8Array, row: ImportedRow) => boolean {
  const { insert } = statements(store);
  return (id, row) => {
    const { comment, tags } = row;
    const { changes } = insert.run(
      id,
      zone,
      row.owner_key,
      row.name,
      row.type,
      row.content,
      row.rdata,
      row.rdata_key,
      row.ttl,
      row.proxied,
      row.settings,
      comment,
      tags,
      now,
      now,
      comment === null ? null : now,
      tags === null ? null : now,
    );
    return changes === 1;
  };
}

/**
 * RRsets to which rules about whole sets may apply: those with more records than `moreThan`, or whose records were not
 * written consecutively. The index alone answers this query.
 */
export function notableSets(store: Store, zone: number, moreThan: number): RRsetKey[] {
  return statements(store)
    .notable.all(zone, moreThan)
    .map(([ownerKey, type]) => ({ zone, ownerKey, type }));
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
  { zone, ownerKey, type }: RRsetKey,
  overhead: number,
  automatic: number,
): SetFacts {
  const [name, octets, ttl, ttls] = statements(store).facts.get(overhead, automatic, zone, ownerKey, type)!;
  return { name, octets, lowestTtl: ttls > 1 ? ttl : undefined };
}

/** Gives this TTL, in seconds, to all records of the set. */
export function setTtlOfSet(store: Store, { zone, ownerKey, type }: RRsetKey, ttl: number): void {
  statements(store).setTtl.run(ttl, zone, ownerKey, type);
}
