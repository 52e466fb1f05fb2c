/**
 * The signatures of signed zones: one row for each owner, in canonical order. What the octets hold is decided by
 * serving/stored-signatures.ts. They stand in sets of their own (records/places.ts), so `zone` may also be a staged set.
 */
import { descendantsEnd } from '../../dns/name.js';
import { oneRow, runs, theValue, valueIfAny } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { type Place, SIGNATURE_SET_AT } from '../records/places.js';

export interface SignatureRow {
  /** Relative to the apex, see dns/name.ts. */
  readonly owner_key: Uint8Array;
  readonly octets: Uint8Array;
}

/** Sorts after every key: owner keys never begin with 0xff 0xff, because no label has 255 octets. */
const LAST_KEY = Buffer.alloc(256, 0xff);

const statements = perStore((store) => ({
  rewrite: store.prepare<[octets: Uint8Array, zone: Place, ownerKey: Uint8Array]>(
    `UPDATE signatures SET octets = ? WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key = ?`,
  ),
  removeRange: store.prepare<[zone: Place, after: Uint8Array, before: Uint8Array]>(
    `DELETE FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key > ? AND owner_key < ?`,
  ),
  removeUpTo: store.prepare<[zone: Place, last: Uint8Array]>(
    `DELETE FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key <= ?`,
  ),
  removeZone: store.prepare<[zone: Place]>(`DELETE FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT}`),
  nthKey: store.prepareTuples<[zone: Place, offset: number], [ownerKey: Uint8Array]>(
    `SELECT owner_key FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} ORDER BY owner_key LIMIT 1 OFFSET ?`,
  ),
  first: store.prepare<[zone: Place, after: Uint8Array, before: Uint8Array], SignatureRow>(
    `SELECT owner_key, octets FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key > ? AND owner_key < ? ORDER BY owner_key LIMIT 1`,
  ),
  // Like the rows of records (store/records/stored-rows.ts): one octet string for many rows costs less than two for each.
  chunk: store.prepareTuples<
    [zone: Place, from: Uint8Array, limit: number],
    [octets: Uint8Array | null, lengths: string]
  >(
    `SELECT CAST(group_concat(owner_key || octets, '') AS BLOB),
       '[' || group_concat(length(owner_key) || ',' || length(octets)) || ']'
     FROM (SELECT owner_key, octets FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key >= ? ORDER BY owner_key LIMIT ?)`,
  ),
  keysBetween: store.prepareTuples<[zone: Place, after: Uint8Array, before: Uint8Array], [ownerKey: Uint8Array]>(
    `SELECT owner_key FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key > ? AND owner_key < ? ORDER BY owner_key`,
  ),
  keysAfter: store.prepareTuples<[zone: Place, after: Uint8Array, limit: number], [ownerKey: Uint8Array]>(
    `SELECT owner_key FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key > ? ORDER BY owner_key LIMIT ?`,
  ),
  due: store.prepareTuples<[zone: Place, before: number, limit: number], [ownerKey: Uint8Array]>(
    `SELECT owner_key FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND first_expiry < ? ORDER BY first_expiry, owner_key LIMIT ?`,
  ),
  apexDue: store.prepareTuples<[zone: Place, before: number], [number]>(
    `SELECT 1 FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key = X'' AND first_expiry < ?`,
  ),
  earliest: store.prepareTuples<[zone: Place], [firstExpiry: number | null]>(
    `SELECT min(first_expiry) FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT}`,
  ),
}));

export const signatureOctets = valueIfAny<[zone: Place, ownerKey: Uint8Array], Uint8Array>(
  `SELECT octets FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key = ?`,
);

/** `firstExpiry`: when its first signature ends, seconds since 1970; null without signatures. */
export const putSignatures = runs<
  [zone: Place, ownerKey: Uint8Array, firstExpiry: number | null, octets: Uint8Array]
>(`INSERT INTO signatures (signature_set, owner_key, first_expiry, octets) VALUES (${SIGNATURE_SET_AT}, ?, ?, ?)
     ON CONFLICT (signature_set, owner_key) DO UPDATE SET first_expiry = excluded.first_expiry, octets = excluded.octets`);

/** The same for an existing row that keeps its first end: the index of ends, in which rows are far apart, stays as it is. */
export function rewriteSignatures(store: Store, zone: Place, ownerKey: Uint8Array, octets: Uint8Array): void {
  statements(store).rewrite.run(octets, zone, ownerKey);
}

export const removeSignatures = runs<[zone: Place, ownerKey: Uint8Array]>(
  `DELETE FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key = ?`,
);

/** Removes the rows strictly between two owner keys; undefined: up to the end of the zone. */
export function removeSignaturesBetween(
  store: Store,
  zone: Place,
  after: Uint8Array,
  before: Uint8Array | undefined,
): void {
  statements(store).removeRange.run(zone, after, before ?? LAST_KEY);
}

/** Removes about `most` rows of a zone; false when none are left. */
export function removeSomeSignatures(store: Store, zone: Place, most: number): boolean {
  const { nthKey, removeUpTo, removeZone } = statements(store);
  const end = nthKey.get(zone, most - 1)?.[0];
  if (end) removeUpTo.run(zone, end);
  else removeZone.run(zone);
  return end !== undefined;
}

/** The first row strictly between two owner keys; undefined as `before`: up to the end of the zone. */
export function firstSignaturesBetween(
  store: Store,
  zone: Place,
  after: Uint8Array,
  before: Uint8Array | undefined,
): SignatureRow | undefined {
  return statements(store).first.get(zone, after, before ?? LAST_KEY);
}

/** The first row from an owner key on. */
export const signaturesFrom = oneRow<
  [zone: Place, from: Uint8Array],
  SignatureRow
>(`SELECT owner_key, octets FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key >= ?
     ORDER BY owner_key LIMIT 1`);

/** The last row strictly between two owner keys. */
export const lastSignaturesBetween = oneRow<
  [zone: Place, after: Uint8Array, before: Uint8Array],
  SignatureRow
>(`SELECT owner_key, octets FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND owner_key > ? AND owner_key < ?
     ORDER BY owner_key DESC LIMIT 1`);

const ROWS_AT_ONCE = 150;

/** All rows of a zone in canonical order, read in parts; other statements may run meanwhile. The octets are views. */
export function* signaturesOfZone(store: Store, zone: Place, from: Uint8Array): Generator<SignatureRow> {
  const { chunk } = statements(store);
  for (let next = from; ; ) {
    const [octets, text] = chunk.get(zone, next, ROWS_AT_ONCE)!;
    if (octets === null) return;
    // Views of a plain array are made faster than those of a Buffer.
    const plain = new Uint8Array(octets.buffer, octets.byteOffset, octets.length);
    const lengths = JSON.parse(text) as readonly number[];
    // Rows are made one after the other, so that a collection of garbage finds few that are still needed.
    let at = 0;
    for (let i = 0; i < lengths.length; i += 2) {
      const middle = at + lengths[i]!;
      const end = middle + lengths[i + 1]!;
      yield { owner_key: plain.subarray(at, middle), octets: plain.subarray(middle, end) };
      at = end;
    }
    if (lengths.length < 2 * ROWS_AT_ONCE) return;
    const lastKey = plain.length - lengths.at(-2)! - lengths.at(-1)!;
    // The immediately following key.
    next = Buffer.concat([plain.subarray(lastKey, lastKey + lengths.at(-2)!), Buffer.of(0)]);
  }
}

/** Keys of the owners below an owner, in canonical order. */
export function signedOwnersBelow(store: Store, zone: Place, ownerKey: Uint8Array): Uint8Array[] {
  const rows = statements(store).keysBetween.all(zone, ownerKey, descendantsEnd(ownerKey) ?? LAST_KEY);
  return rows.map(([key]) => key);
}

/** Keys of the owners after an owner, in canonical order; no more than `limit`. */
export function signedOwnersAfter(store: Store, zone: Place, ownerKey: Uint8Array, limit: number): Uint8Array[] {
  return statements(store)
    .keysAfter.all(zone, ownerKey, limit)
    .map(([key]) => key);
}

/** Owners with a signature that ends before a time in seconds since 1970: the apex, then those that end first. */
export function dueSignatures(store: Store, zone: Place, before: number, limit: number): Uint8Array[] {
  const { due, apexDue } = statements(store);
  const keys = due.all(zone, before, limit).map(([key]) => key);
  if (apexDue.get(zone, before) === undefined) return keys;
  return [new Uint8Array(0), ...keys.filter((key) => key.length > 0)].slice(0, limit);
}

/** Number of owners with a signature that ends before a time. */
export const countDueSignatures = theValue<[zone: Place, before: number], number>(
  `SELECT count(*) FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT} AND first_expiry < ?`,
);

/** When the first signature of a zone ends, seconds since 1970; undefined without signatures. */
export function earliestExpiry(store: Store, zone: Place): number | undefined {
  return statements(store).earliest.get(zone)?.[0] ?? undefined;
}

/** Number of owners with a row. */
export const countSignedOwners = theValue<[zone: Place], number>(
  `SELECT count(*) FROM signatures WHERE signature_set = ${SIGNATURE_SET_AT}`,
);
