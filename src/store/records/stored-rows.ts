/**
 * Reads all rows of a zone for the publisher, about two million a second.
 *
 * Every octet string from SQLite costs an allocation outside the heap, which takes longer than reading the row. So the
 * some hundred rows come as one octet string, the concatenation of owner keys and rdata, and one JSON list
 * of the numbers. Concatenating BLOBs as text and casting back keeps the octets (SQLite, "CAST expressions").
 */
import { equalBytes } from '../../base/bytes.js';
import { perStore, type Store } from '../driver.js';
import { amongAliases } from './owner-index.js';
import { type Place, RECORD_SET_AT } from './places.js';
import { type NewRecordRow, SET_OF_ZONE } from './records.js';

/** The columns the publisher reads, in this order. */
export type StoredTuple = readonly [
  ownerKey: Uint8Array,
  type: number,
  ttl: number,
  proxied: number,
  rdata: Uint8Array,
  settings: string | null,
];

/** The same of a row that is in memory. */
export function storedTuple({ owner_key, type, ttl, proxied, rdata, settings }: NewRecordRow): StoredTuple {
  return [owner_key, type, ttl, proxied, rdata, settings];
}

/** Rows read in one step; twice as many each time that a single owner has more. */
const CHUNK = 250;
/** Numbers of a row: length of the owner key, type, TTL, proxied, length of the rdata, settings. */
const MEMBERS = 6;

const NUMBERS = `'[' || group_concat(length(owner_key) || ',' || type || ',' || ttl || ',' || proxied || ',' || length(rdata)
  || ',' || CASE WHEN settings IS NULL THEN 'null' ELSE json_quote(settings) END) || ']'`;

/** Of an owner with more rows, the octets come at once. */
const FEW_ROWS = 32;

const statements = perStore((store) => ({
  ofOwner: store.prepareTuples<[zone: number, ownerKey: Uint8Array, limit: number], StoredTuple>(
    `SELECT owner_key, type, ttl, proxied, rdata, settings FROM record_rows
     WHERE record_set = ${SET_OF_ZONE} AND owner_key = ? ORDER BY type, rdata_key LIMIT ?`,
  ),
  allOfOwner: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [octets: Uint8Array, numbers: string]>(
    `SELECT CAST(group_concat(owner_key || rdata, '') AS BLOB), ${NUMBERS}
     FROM (SELECT owner_key, type, ttl, proxied, rdata, settings FROM record_rows
       WHERE record_set = ${SET_OF_ZONE} AND owner_key = ? ORDER BY type, rdata_key)`,
  ),
  ofAliases: store.prepareTuples<[zone: Place, from: Uint8Array, to: Uint8Array], StoredTuple>(
    `SELECT r.owner_key, r.type, r.ttl, r.proxied, r.rdata, r.settings FROM record_rows a ${amongAliases(store)}
     CROSS JOIN record_rows r ON r.record_set = a.record_set AND r.owner_key = a.owner_key
     WHERE a.record_set = ${RECORD_SET_AT} AND a.type = 5 AND a.owner_key >= ? AND a.owner_key <= ?
     ORDER BY a.owner_key, r.type, r.rdata_key`,
  ),
  aliasOwners: store.prepareTuples<[zone: Place, from: Uint8Array, limit: number], [ownerKey: Uint8Array]>(
    `SELECT owner_key FROM record_rows ${amongAliases(store)}
     WHERE record_set = ${RECORD_SET_AT} AND type = 5 AND owner_key >= ?
     ORDER BY owner_key LIMIT ?`,
  ),
  // Where a view stands in front of the table (past-records.ts), SQLite merges its parts, instead of sorting all that follows, only by
  // columns that are selected.
  chunk: store.prepareTuples<
    [zone: Place, from: Uint8Array, limit: number],
    [octets: Uint8Array | null, numbers: string]
  >(
    `SELECT CAST(group_concat(owner_key || rdata, '') AS BLOB), ${NUMBERS}
     FROM (SELECT owner_key, type, ttl, proxied, rdata, settings, rdata_key FROM record_rows
       WHERE record_set = ${RECORD_SET_AT} AND owner_key >= ? ORDER BY owner_key, type, rdata_key LIMIT ?)`,
  ),
}));

/**
 * The rows of a zone, or of a staged set, ordered by owner key, type and data; `after`: those after this owner. Runs several
 * statements: create and consume the generator inside one `snapshot`. The octets are views that stay valid while they are
 * referenced.
 */
export function* storedRows(store: Store, zone: Place, after?: Uint8Array): Generator<StoredTuple> {
  const { chunk } = statements(store);
  let from: Uint8Array = after ? Buffer.concat([after, Buffer.of(0)]) : new Uint8Array(0);
  let limit = CHUNK;
  for (;;) {
    const [octets, numbers] = chunk.get(zone, from, limit)!;
    if (octets === null) return;
    const plain = plainOctets(octets);
    const packed = JSON.parse(numbers) as Packed;
    if (packed.length < limit * MEMBERS) {
      yield* rowsOf(plain, packed, packed.length);
      return;
    }
    // The last owner may have more rows, so the next step begins with it.
    const lastOwner = placeOfLastOwner(plain, packed);
    yield* rowsOf(plain, packed, lastOwner.end);
    limit = lastOwner.end === 0 ? limit * 2 : CHUNK;
    from = lastOwner.key;
  }
}

/** The key of the last owner, and the index of the numbers of its first row. */
function placeOfLastOwner(octets: Uint8Array, packed: Packed): { readonly key: Uint8Array; readonly end: number } {
  let key: Uint8Array | undefined;
  let end = packed.length;
  for (let rowEnd = octets.length; end > 0; end -= MEMBERS) {
    const first = end - MEMBERS;
    const length = packed[first] as number;
    const start = rowEnd - length - (packed[first + 4] as number);
    const own = octets.subarray(start, start + length);
    key ??= own;
    if (!equalBytes(own, key)) break;
    rowEnd = start;
  }
  return { key: key!, end };
}

type Packed = readonly (number | string | null)[];

/**
 * One after the other, so that a collection of garbage finds few that are still needed. `end`: after the last number to be
 * read.
 */
function* rowsOf(octets: Uint8Array, numbers: Packed, end: number): Generator<StoredTuple> {
  let at = 0;
  for (let i = 0; i < end; i += MEMBERS) {
    const rdataAt = at + (numbers[i] as number);
    const next = rdataAt + (numbers[i + 4] as number);
    yield [
      octets.subarray(at, rdataAt),
      numbers[i + 1] as number,
      numbers[i + 2] as number,
      numbers[i + 3] as number,
      octets.subarray(rdataAt, next),
      numbers[i + 5] as string | null,
    ];
    at = next;
  }
}

export function storedRowsOfOwner(store: Store, zone: number, ownerKey: Uint8Array): readonly StoredTuple[] {
  const { ofOwner, allOfOwner } = statements(store);
  const rows = ofOwner.all(zone, ownerKey, FEW_ROWS + 1);
  if (rows.length <= FEW_ROWS) return rows;
  const [octets, numbers] = allOfOwner.get(zone, ownerKey)!;
  const packed = JSON.parse(numbers) as Packed;
  return [...rowsOf(plainOctets(octets), packed, packed.length)];
}

/** Views of a plain array are made faster than those of a Buffer. */
function plainOctets(octets: Uint8Array): Uint8Array {
  return new Uint8Array(octets.buffer, octets.byteOffset, octets.length);
}

/** All rows of the owners between two keys, both included, that have a CNAME, ordered by owner key, type and data. */
export function storedRowsOfAliases(store: Store, zone: Place, from: Uint8Array, to: Uint8Array): StoredTuple[] {
  return statements(store).ofAliases.all(zone, from, to);
}

const FIRST_KEY = new Uint8Array(0);

/** Owners that have a CNAME, in canonical order, no more than `limit`, beginning with that of a key or the one behind it. */
export function aliasOwners(store: Store, zone: Place, limit: number, from: Uint8Array = FIRST_KEY): Uint8Array[] {
  return statements(store)
    .aliasOwners.all(zone, from, limit)
    .map(([ownerKey]) => ownerKey);
}
