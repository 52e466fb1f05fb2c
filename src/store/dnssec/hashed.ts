/**
 * The NSEC3 chains of signed zones: one row for each hashed name, in the order of the hashes. What the octets hold is decided
 * by serving/stored-signatures.ts. They stand in the sets of the signatures.
 */

import { oneRow, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { type Place, SIGNATURE_SET_AT } from '../records/places.js';

export interface HashedRow {
  /** 20 octets. */
  readonly hash: Uint8Array;
  /** The name that was hashed, relative to the apex, see dns/name.ts. */
  readonly owner_key: Uint8Array;
  readonly octets: Uint8Array;
}

const statements = perStore((store) => ({
  put: store.prepare<
    [zone: Place, hash: Uint8Array, ownerKey: Uint8Array, firstExpiry: number | null, octets: Uint8Array]
  >(
    `INSERT INTO nsec3 (signature_set, hash, owner_key, first_expiry, octets) VALUES (${SIGNATURE_SET_AT}, ?, ?, ?, ?)
     ON CONFLICT (signature_set, hash) DO UPDATE SET first_expiry = excluded.first_expiry, octets = excluded.octets`,
  ),
  ensure: store.prepare<[zone: Place, hash: Uint8Array, ownerKey: Uint8Array, octets: Uint8Array]>(
    `INSERT INTO nsec3 (signature_set, hash, owner_key, first_expiry, octets) VALUES (${SIGNATURE_SET_AT}, ?, ?, NULL, ?)
     ON CONFLICT (signature_set, hash) DO NOTHING`,
  ),
  removeUpTo: store.prepare<[zone: Place, last: Uint8Array]>(
    `DELETE FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND hash <= ?`,
  ),
  removeZone: store.prepare<[zone: Place]>(`DELETE FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT}`),
  nth: store.prepareTuples<[zone: Place, offset: number], [hash: Uint8Array]>(
    `SELECT hash FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} ORDER BY hash LIMIT 1 OFFSET ?`,
  ),
  after: store.prepare<[zone: Place, after: Uint8Array, limit: number], HashedRow>(
    `SELECT hash, owner_key, octets FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND hash > ? ORDER BY hash LIMIT ?`,
  ),
  before: store.prepare<[zone: Place, before: Uint8Array], HashedRow>(
    `SELECT hash, owner_key, octets FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND hash < ? ORDER BY hash DESC LIMIT 1`,
  ),
  first: store.prepare<[zone: Place], HashedRow>(
    `SELECT hash, owner_key, octets FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} ORDER BY hash LIMIT 1`,
  ),
  last: store.prepare<[zone: Place], HashedRow>(
    `SELECT hash, owner_key, octets FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} ORDER BY hash DESC LIMIT 1`,
  ),
  due: store.prepareTuples<[zone: Place, before: number, limit: number], [hash: Uint8Array]>(
    `SELECT hash FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND first_expiry < ? ORDER BY first_expiry, hash LIMIT ?`,
  ),
  earliest: store.prepareTuples<[zone: Place], [firstExpiry: number | null]>(
    `SELECT min(first_expiry) FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT}`,
  ),
}));

export const findHashed = oneRow<[zone: Place, hash: Uint8Array], HashedRow>(
  `SELECT hash, owner_key, octets FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND hash = ?`,
);

export function hasHashed(store: Store, zone: Place): boolean {
  return statements(store).first.get(zone) !== undefined;
}

/** `firstExpiry`: when its first signature ends, seconds since 1970. */
export function putHashed(store: Store, zone: Place, row: HashedRow, firstExpiry: number | null): void {
  statements(store).put.run(zone, row.hash, row.owner_key, firstExpiry, row.octets);
}

/** Adds a row without a signature; one that exists stays as it is. */
export function ensureHashed(store: Store, zone: Place, { hash, owner_key: ownerKey, octets }: HashedRow): void {
  statements(store).ensure.run(zone, hash, ownerKey, octets);
}

export const removeHashed = runs<[zone: Place, hash: Uint8Array]>(
  `DELETE FROM nsec3 WHERE signature_set = ${SIGNATURE_SET_AT} AND hash = ?`,
);

/** Removes about `most` rows of a zone; false when none are left. */
export function removeSomeHashed(store: Store, zone: Place, most: number): boolean {
  const { nth, removeUpTo, removeZone } = statements(store);
  const end = nth.get(zone, most - 1)?.[0];
  if (end) removeUpTo.run(zone, end);
  else removeZone.run(zone);
  return end !== undefined;
}

/** The next row in the chain, which is a circle; undefined without rows. */
export function hashedAfter(store: Store, zone: Place, hash: Uint8Array): HashedRow | undefined {
  const { after, first } = statements(store);
  return after.get(zone, hash, 1) ?? first.get(zone);
}

/** The row before a hash in the circle; undefined without rows. */
export function hashedBefore(store: Store, zone: Place, hash: Uint8Array): HashedRow | undefined {
  const { before, last } = statements(store);
  return before.get(zone, hash) ?? last.get(zone);
}

/** Rows after a hash in the order of the hashes; no more than `limit`. An empty hash comes before all. */
export function someHashedAfter(store: Store, zone: Place, hash: Uint8Array, limit: number): readonly HashedRow[] {
  return statements(store).after.all(zone, hash, limit);
}

const ROWS_AT_ONCE = 1000;

/** All rows of a zone, read in parts; other statements may run meanwhile. */
export function* hashedOfZone(store: Store, zone: Place, after: Uint8Array): Generator<HashedRow> {
  for (let last = after; ; ) {
    const rows = someHashedAfter(store, zone, last, ROWS_AT_ONCE);
    yield* rows;
    if (rows.length < ROWS_AT_ONCE) return;
    last = rows.at(-1)!.hash;
  }
}

/** Hashes with a signature that ends before a time in seconds since 1970, the first to end first. */
export function dueHashed(store: Store, zone: Place, before: number, limit: number): Uint8Array[] {
  return statements(store)
    .due.all(zone, before, limit)
    .map(([hash]) => hash);
}

/** When the first signature of the chain ends, seconds since 1970; undefined without any. */
export function earliestHashedExpiry(store: Store, zone: Place): number | undefined {
  return statements(store).earliest.get(zone)?.[0] ?? undefined;
}
