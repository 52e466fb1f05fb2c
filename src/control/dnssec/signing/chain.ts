/** The chain of NSEC records: which names are in it, and what the record of each says (RFC 4034 §4, RFC 4035 §2.3). */
import { invariant } from '../../../base/errors.js';
import { Type } from '../../../dns/codes.js';
import { descendantsEnd, nameLength, nameOfOwnerKey, ownerKeysDownTo } from '../../../dns/name.js';
import type { RRset } from '../../../dns/rr.js';
import { compactNsecRdata, nameBehind, nsecRdata } from '../../../dnssec/denial.js';
import { mayDelegate } from '../../../serving/look-up.js';
import { type SignedOwner, type SignedSet, standingOf } from '../../../serving/stored-signatures.js';
import { signatureOctets } from '../../../store/dnssec/signatures.js';
import { signSet } from './sign-owner.js';
import type { SigningZone } from './signing-zone.js';
import type { StoredOwners } from './stored-owners.js';

export const APEX: Uint8Array = new Uint8Array(0);

export function maintainsNsec({ row }: SigningZone): boolean {
  return row.denial !== 'nsec3' || (row.next_denial ?? 'nsec3') !== 'nsec3';
}

/**
 * Whether NSEC records are about their own names alone. Those of a chain are not wrong beside them, and must be complete before
 * the chain is served.
 */
function isCompact({ row }: SigningZone): boolean {
  return row.denial !== 'nsec' && row.next_denial !== 'nsec';
}

/** Whether names below an owner belong to another zone, or are redirected. */
export interface Barrier {
  readonly isCut: boolean;
  readonly redirects: boolean;
}

/** The barrier that these RRsets make of their owner. */
export function barrierOf(ownerKey: Uint8Array, rrsets: readonly RRset[]): Barrier {
  return {
    isCut: mayDelegate(ownerKey) && rrsets.some(({ type }) => type === Type.ns),
    redirects: rrsets.some(({ type }) => type === Type.dname),
  };
}

/** The same of an owner that is stored; nothing is a barrier below another one. */
export function storedBarrier(octets: Uint8Array | undefined): Barrier | undefined {
  if (!octets) return undefined;
  const { standing, redirects } = standingOf(octets);
  return standing === 'occluded' ? undefined : { isCut: standing === 'cut', redirects };
}

export function isBarrier(barrier: Barrier | undefined): boolean {
  return barrier !== undefined && (barrier.isCut || barrier.redirects);
}

/** The topmost barrier above an owner; `barrierAt` knows those of its ancestors, the apex included. */
export function barrierAbove(
  ownerKey: Uint8Array,
  barrierAt: (ancestor: Uint8Array) => Barrier | undefined,
): Uint8Array | undefined {
  if (ownerKey.length === 0) return undefined;
  const ancestors = [APEX, ...ownerKeysDownTo(ownerKey).slice(0, -1)];
  return ancestors.find((ancestor) => isBarrier(barrierAt(ancestor)));
}

/** The same by what is stored. */
export function storedBarrierAbove({ store, row }: SigningZone, ownerKey: Uint8Array): Uint8Array | undefined {
  return barrierAbove(ownerKey, (ancestor) => storedBarrier(signatureOctets(store, row.zone, ancestor)));
}

/**
 * The first member of the chain among stored owners strictly between two; undefined as `before`: up to the end of the zone.
 * `barrierOver`: the barrier above an occluded owner.
 */
export function memberBetween(
  stored: Pick<StoredOwners, 'firstBetween'>,
  after: Uint8Array,
  before: Uint8Array | undefined,
  barrierOver: (ownerKey: Uint8Array) => Uint8Array | undefined,
): Uint8Array | undefined {
  for (let from: Uint8Array | undefined = after; from; ) {
    const found = stored.firstBetween(from, before);
    if (!found) return undefined;
    if (standingOf(found.octets).standing !== 'occluded') return found.owner_key;
    const barrier = barrierOver(found.owner_key);
    invariant(barrier, 'an occluded owner has a delegation or a DNAME above it');
    // No key equals the end of a range of descendants.
    from = descendantsEnd(barrier);
  }
  return undefined;
}

/** The types that the NSEC record of an owner lists. */
function typesOf(ownerKey: Uint8Array, { standing, sets }: SignedOwner): number[] {
  const types = sets.map(({ type }) => type).filter((type) => type !== Type.nsec && type !== Type.soa);
  if (ownerKey.length === 0) types.push(Type.soa);
  if (standing === 'cut') types.push(Type.ns);
  return [...types, Type.rrsig, Type.nsec];
}

/** The NSEC record of an owner with its signatures. `next`: the next member of a chain, at the end the apex. */
export function signNsec(
  signing: SigningZone,
  ownerKey: Uint8Array,
  owner: SignedOwner,
  next: Uint8Array,
  stored: SignedSet | undefined,
): SignedSet {
  const { apex } = signing.zone.facts;
  const types = typesOf(ownerKey, owner);
  const rdata = isCompact(signing)
    ? compactNsecRdata(nameOfOwnerKey(ownerKey, apex), types)
    : nsecRdata(nameOfOwnerKey(next, apex), types);
  return signDenial(signing, ownerKey, Type.nsec, rdata, stored);
}

/** The NSEC record of an owner that itself did not change, with another next name. */
export function relinkNsec(signing: SigningZone, ownerKey: Uint8Array, stored: SignedSet, next: Uint8Array): SignedSet {
  const { rdata: old } = stored.denial!;
  const { apex } = signing.zone.facts;
  const name = isCompact(signing) ? nameBehind(nameOfOwnerKey(ownerKey, apex)) : nameOfOwnerKey(next, apex);
  const rdata = Buffer.concat([name, old.subarray(nameLength(old))]);
  return signDenial(signing, ownerKey, Type.nsec, rdata, stored);
}

function signDenial(
  signing: SigningZone,
  ownerKey: Uint8Array,
  type: number,
  rdata: Uint8Array,
  stored: SignedSet | undefined,
): SignedSet {
  const rrset = { type, ttl: signing.denialTtl, rdatas: [rdata] };
  const set = signSet(signing, ownerKey, rrset, stored);
  return { ...set, denial: { ttl: rrset.ttl, rdata } };
}
