/** The chain of NSEC3 records: which names are in it, and what the record of each says (RFC 5155 §7.1). */
import { compareBytes, equalBytes } from '../../../base/bytes.js';
import { Type } from '../../../dns/codes.js';
import { descendantsEnd, nameOfOwnerKey, ownerKeysDownTo } from '../../../dns/name.js';
import { type HashParameters, nsec3Rdata } from '../../../dnssec/denial.js';
import { hashOwner } from '../../../dnssec/nsec3.js';
import { ownerText } from '../../../serving/difference.js';
import { hashedOwnerKey } from '../../../serving/hashed.js';
import { readSignedOwner, type SignedOwner, type SignedSet } from '../../../serving/stored-signatures.js';
import { findHashed, type HashedRow, hashedOfZone } from '../../../store/dnssec/hashed.js';
import { signatureOctets, signaturesOfZone } from '../../../store/dnssec/signatures.js';
import { APEX, memberBetween, storedBarrierAbove } from './chain.js';
import { signSet } from './sign-owner.js';
import type { SigningZone } from './signing-zone.js';
import { storedOwners } from './stored-owners.js';

/** Asked after each name; true ends the part. */
type IsEnough = () => boolean;

export function maintainsHashed({ row }: SigningZone): boolean {
  return row.denial === 'nsec3' || row.next_denial === 'nsec3';
}

function parametersOf({ row }: SigningZone): HashParameters {
  return { iterations: row.iterations, salt: row.salt, optOut: row.opt_out === 1 };
}

/** The hash of an owner (RFC 5155 §5). */
export function hashOf(signing: SigningZone, ownerKey: Uint8Array): Uint8Array {
  return hashOwner(nameOfOwnerKey(ownerKey, signing.zone.facts.apex), parametersOf(signing));
}

/** The types that the NSEC3 record of an owner lists; `owner` undefined: an empty non-terminal. */
export function hashedTypes(ownerKey: Uint8Array, owner: SignedOwner | undefined): number[] {
  const types = (owner?.sets ?? []).map(({ type }) => type).filter((type) => type !== Type.nsec && type !== Type.soa);
  if (ownerKey.length === 0) types.push(Type.soa);
  // The NS of a delegation is not signed (RFC 5155 §7.1).
  if (types.length > 0) types.push(Type.rrsig);
  if (owner?.standing === 'cut') types.push(Type.ns);
  return types;
}

/** Makes the NSEC3 record of a name and stores it; what fits is kept. The rows of its neighbours exist. */
export function signHashed(
  signing: SigningZone,
  row: Omit<HashedRow, 'octets'>,
  types: readonly number[],
  stored: SignedSet | undefined,
): SignedSet {
  return storeHashed(signing, row, nsec3Rdata(parametersOf(signing), signing.rows.hashAfter(row.hash), types), stored);
}

/** The record of a name that did not change, with another next hash. */
export function relinkHashed(signing: SigningZone, row: HashedRow, stored: SignedSet): SignedSet {
  const rdata = new Uint8Array(stored.denial!.rdata);
  // Hash algorithm, flags, iterations, length of the salt, salt, length of the hash, hash (RFC 5155 §3.2).
  rdata.set(signing.rows.hashAfter(row.hash), 6 + rdata[4]!);
  return storeHashed(signing, row, rdata, stored);
}

export function recordOf(octets: Uint8Array | undefined): SignedSet | undefined {
  return octets && readSignedOwner(octets).sets.find(({ denial }) => denial);
}

function storeHashed(
  signing: SigningZone,
  { hash, owner_key: ownerKey }: Omit<HashedRow, 'octets'>,
  rdata: Uint8Array,
  stored: SignedSet | undefined,
): SignedSet {
  const { denialTtl: ttl } = signing;
  const made = signSet(signing, hashedOwnerKey(hash), { type: Type.nsec3, ttl, rdatas: [rdata] }, stored);
  if (made === stored && signing.kept === signing.row.zone) return stored;
  const set: SignedSet = { ...made, denial: { ttl, rdata } };
  signing.rows.putHashed(hash, ownerKey, set);
  return set;
}

/** An owner of a zone with its signed RRsets. */
export interface SignedName {
  readonly ownerKey: Uint8Array;
  readonly owner: SignedOwner;
}

/** Signs the whole chain of these owners, of which nothing is stored yet. */
export function* signHashedOf(signing: SigningZone, owners: readonly SignedName[]): Generator<undefined, void> {
  const names = new Map<string, Pick<HashedRow, 'owner_key'> & { readonly types: readonly number[] }>();
  for (const { ownerKey, owner } of owners) {
    if (owner.standing === 'occluded') continue;
    for (const name of ownerKey.length === 0 ? [] : ownerKeysDownTo(ownerKey)) {
      const key = new Uint8Array(name);
      if (!names.has(ownerText(key))) names.set(ownerText(key), { owner_key: key, types: [] });
    }
    names.set(ownerText(ownerKey), { owner_key: ownerKey, types: hashedTypes(ownerKey, owner) });
    yield;
  }
  const chain: { readonly hash: Uint8Array; readonly types: readonly number[] }[] = [];
  for (const { owner_key: ownerKey, types } of names.values()) {
    chain.push({ hash: hashOf(signing, ownerKey), types });
    yield;
  }
  chain.sort((a, b) => compareBytes(a.hash, b.hash));
  for (const [i, { hash, types }] of chain.entries()) {
    const next = chain[i + 1] ?? chain[0]!;
    const rdatas = [nsec3Rdata(parametersOf(signing), next.hash, types)];
    const stored = recordOf(findHashed(signing.store, signing.kept, hash)?.octets);
    signSet(signing, hashedOwnerKey(hash), { type: Type.nsec3, ttl: signing.denialTtl, rdatas }, stored);
    yield;
  }
}

/**
 * Adds rows for the names of the zone from `from` on, without records. Returns the next owner; undefined when none are left.
 */
export function hashNames(signing: SigningZone, from: Uint8Array, isEnough: IsEnough): Uint8Array | undefined {
  const { store, row } = signing;
  let previous: Uint8Array = APEX;
  for (const { owner_key: key, octets } of signaturesOfZone(store, row.zone, from)) {
    if (readSignedOwner(octets).standing === 'occluded') continue;
    for (const name of key.length === 0 ? [key] : ownerKeysDownTo(key)) {
      // Names above the owner before this one are there already.
      if (name.length < key.length && isAtOrAbove(name, previous)) continue;
      const ownerKey = new Uint8Array(name);
      signing.rows.ensureHashed(hashOf(signing, ownerKey), ownerKey);
    }
    previous = new Uint8Array(key);
    // The next part begins with this owner again, which does no harm.
    if (isEnough()) return previous;
  }
  return undefined;
}

function isAtOrAbove(name: Uint8Array, key: Uint8Array): boolean {
  return key.length >= name.length && equalBytes(key.subarray(0, name.length), name);
}

/** Makes the records of the names after a hash. Returns the last one made; undefined when none are left. */
export function linkNames(signing: SigningZone, after: Uint8Array, isEnough: IsEnough): Uint8Array | undefined {
  const { store, row, kept } = signing;
  for (const hashed of hashedOfZone(store, row.zone, after)) {
    const octets = signatureOctets(store, row.zone, hashed.owner_key);
    const types = hashedTypes(hashed.owner_key, octets && readSignedOwner(octets));
    signHashed(
      signing,
      hashed,
      types,
      recordOf(hashed.octets) ?? recordOf(findHashed(store, kept, hashed.hash)?.octets),
    );
    if (isEnough()) return new Uint8Array(hashed.hash);
  }
  return undefined;
}

/** Removes rows of names that are not in the zone any more, or hashed with other parameters. */
export function sweepNames(signing: SigningZone): void {
  const { store, row } = signing;
  for (const { hash, owner_key: ownerKey } of hashedOfZone(store, row.zone, new Uint8Array(0))) {
    const octets = signatureOctets(store, row.zone, ownerKey);
    const isIn = octets ? readSignedOwner(octets).standing !== 'occluded' : hasMembersBelow(signing, ownerKey);
    if (!isIn || !equalBytes(hashOf(signing, ownerKey), hash)) signing.rows.removeHashed(hash);
  }
}

/** Whether a name without records is an empty non-terminal. */
function hasMembersBelow(signing: SigningZone, ownerKey: Uint8Array): boolean {
  const stored = storedOwners(signing.store, signing.row.zone);
  const barrierOver = (key: Uint8Array): Uint8Array | undefined => storedBarrierAbove(signing, key);
  if (barrierOver(ownerKey)) return false;
  return memberBetween(stored, ownerKey, descendantsEnd(ownerKey), barrierOver) !== undefined;
}
