/** The NSEC3 records that a signed zone serves. Their owner names are not names of the zone (RFC 5155 §7.2.8). */
import { toBase32Hex } from '../base/bytes.js';
import type { HashedOwner } from '../dnssec/denial.js';
import { findHashed, hashedBefore, hashedOfZone } from '../store/dnssec/hashed.js';
import type { Store } from '../store/driver.js';
import { denialRRset } from './signed.js';
import { readSignedOwner } from './stored-signatures.js';
import type { ServingZone } from './zone.js';

/** In the order of the hashes; none unless the zone denies by NSEC3. Create and consume inside one `snapshot` or write. */
export function* servedHashedOwners(store: Store, { seq, denial, staged }: ServingZone): Generator<HashedOwner> {
  if (denial?.kind !== 'nsec3') return;
  for (const { hash, octets } of hashedOfZone(store, staged?.signatures ?? seq, new Uint8Array(0))) {
    const owner = hashedOwner(hash, octets);
    if (owner) yield owner;
  }
}

export function hashedAtOwner(store: Store, { seq, denial }: ServingZone, hash: Uint8Array): HashedOwner | undefined {
  const row = denial?.kind === 'nsec3' ? findHashed(store, seq, hash) : undefined;
  return row && hashedOwner(row.hash, row.octets);
}

/** The NSEC3 record that matches or covers a hash; undefined when the zone has none. */
export function hashedAtOrBefore(
  store: Store,
  { seq, denial }: ServingZone,
  hash: Uint8Array,
): HashedOwner | undefined {
  const row = denial?.kind === 'nsec3' ? (findHashed(store, seq, hash) ?? hashedBefore(store, seq, hash)) : undefined;
  return row && hashedOwner(row.hash, row.octets);
}

function hashedOwner(hash: Uint8Array, octets: Uint8Array): HashedOwner | undefined {
  const set = readSignedOwner(octets).sets.find(({ denial }) => denial);
  return set && { hash, rrset: denialRRset(set) };
}

/** The owner key of an NSEC3 record: its hash as the only label below the apex (RFC 5155 §3). */
export function hashedOwnerKey(hash: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.from(`${toBase32Hex(hash)}\0`, 'latin1'));
}
