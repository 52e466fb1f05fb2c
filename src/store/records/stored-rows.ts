/**
 * Reads all rows of a zone for the publisher, about two million a second.
 *
 * Every octet string from SQLite costs an allocation outside the heap, which takes longer than reading the row. So the
 * rows of some thousand owners come as one octet string, the concatenation of owner keys and rdata, and one JSON list
 * of the numbers. Concatenating BLOBs as text and casting back keeps the octets (SQLite, "CAST expressions").
 */
import { perStore, type Store } from '../driver.js';

/** The columns the publisher reads, in this order. */
export type StoredTuple = readonly [
  ownerKey: Uint8Array,
  type: number,
  ttl: number,
  proxied: number,
  rdata: Uint8Array,
  settings: string | null,
];

/** Rows read in one step; more if a single owner has more. */
const CHUNK = 2000;
/** Numbers of a row: length of the owner key, type, TTL, proxied, length of the rdata, settings. */
const MEMBERS = 6;
/** Sorts after every owner key: none begins with 0xff 0xff, because no label is that long. */
const BEHIND_ALL = Buffer.alloc(256, 0xff);

const statements = perStore((store) => ({
  ofOwner: store.prepareTuples<[zone: number, ownerKey: Uint8Array], StoredTuple>(
    `SELECT owner_key, type, ttl, proxied, rdata, settings FROM records
     WHERE zone = ? AND owner_key = ? ORDER BY type, rdata_key`,
  ),
  ofAliases: store.prepareTuples<[zone: number], StoredTuple>(
    `SELECT r.owner_key, r.type, r.ttl, r.proxied, r.rdata, r.settings FROM records a
     JOIN records r ON r.zone = a.zone AND r.owner_key = a.owner_key
     WHERE a.zone = ? AND a.type = 5 ORDER BY a.owner_key, r.type, r.rdata_key`,
  ),
  aliasOwners: store.prepareTuples<[zone: number, limit: number], [ownerKey: Uint8Array]>(
    'SELECT owner_key FROM records WHERE zone = ? AND type = 5 ORDER BY owner_key LIMIT ?',
  ),
  firstEnd: store.prepareTuples<[zone: number, after: Uint8Array], [Uint8Array]>(
    `SELECT owner_key FROM records WHERE zone = ? AND owner_key >= ? ORDER BY owner_key LIMIT 1 OFFSET ${CHUNK - 1}`,
  ),
  chunk: store.prepareTuples<
    [zone: number, from: Uint8Array, to: Uint8Array],
    [octets: Uint8Array | null, numbers: string]
  >(
    `SELECT CAST(group_concat(owner_key || rdata, '') AS BLOB),
       '[' || group_concat(length(owner_key) || ',' || type || ',' || ttl || ',' || proxied || ',' || length(rdata) || ','
         || CASE WHEN settings IS NULL THEN 'null' ELSE json_quote(settings) END) || ']'
     FROM (SELECT owner_key, type, ttl, proxied, rdata, settings FROM records
       WHERE zone = ? AND owner_key >= ? AND owner_key <= ? ORDER BY owner_key, type, rdata_key)`,
  ),
}));

/**
 * The rows of a zone ordered by owner key, type and data. Runs several statements: create and consume the generator
 * inside one `snapshot`. The octets are views that stay valid while they are referenced.
 */
export function* storedRows(store: Store, zone: number): Generator<StoredTuple> {
  const { firstEnd, chunk } = statements(store);
  let from: Uint8Array = new Uint8Array(0);
  for (;;) {
    const end = firstEnd.get(zone, from)?.[0] ?? BEHIND_ALL;
    const [octets, numbers] = chunk.get(zone, from, end)!;
    if (octets !== null) yield* unpack(octets, JSON.parse(numbers));
    if (end === BEHIND_ALL) return;
    // The immediately following key.
    from = Buffer.concat([end, Buffer.of(0)]);
  }
}

function* unpack(octets: Uint8Array, numbers: readonly (number | string | null)[]): Generator<StoredTuple> {
  let at = 0;
  for (let i = 0; i < numbers.length; i += MEMBERS) {
    const rdataAt = at + (numbers[i] as number);
    const end = rdataAt + (numbers[i + 4] as number);
    yield [
      octets.subarray(at, rdataAt),
      numbers[i + 1] as number,
      numbers[i + 2] as number,
      numbers[i + 3] as number,
      octets.subarray(rdataAt, end),
      numbers[i + 5] as string | null,
    ];
    at = end;
  }
}

export function storedRowsOfOwner(store: Store, zone: number, ownerKey: Uint8Array): readonly StoredTuple[] {
  return statements(store).ofOwner.all(zone, ownerKey);
}

/**
 * All rows of the owners that have a CNAME, ordered by owner key, type and data. The handle must not write until the
 * iteration has ended.
 */
export function storedRowsOfAliases(store: Store, zone: number): Iterable<StoredTuple> {
  return statements(store).ofAliases.iterate(zone);
}

/** Owners that have a CNAME, in canonical order, no more than `limit`. */
export function aliasOwners(store: Store, zone: number, limit: number): Uint8Array[] {
  return statements(store)
    .aliasOwners.all(zone, limit)
    .map(([ownerKey]) => ownerKey);
}
