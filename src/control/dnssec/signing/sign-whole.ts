/**
 * Signs a whole zone, in one commit or a part at a time: first the data of all owners, then the chain of names. What still fits
 * is kept.
 */
import { compareBytes, equalBytes } from '../../../base/bytes.js';
import { isOwnerKeyBelow } from '../../../dns/name.js';
import { signedRRsets } from '../../../serving/balanced.js';
import { type ServedOwner, unsignedOwners } from '../../../serving/owner.js';
import { readSignedOwner, type SignedOwner, type Standing } from '../../../serving/stored-signatures.js';
import { type SignatureRow, signatureOctets, signaturesOfZone } from '../../../store/dnssec/signatures.js';
import { APEX, barrierOf, isBarrier, maintainsNsec, signNsec, storedBarrierAbove } from './chain.js';
import { hashNames, linkNames, maintainsHashed, sweepNames } from './hashed-chain.js';
import { signSets, storeSignedOwner, withSet } from './sign-owner.js';
import type { SigningZone } from './signing-zone.js';

/** Asked after each owner; true ends the part. */
type IsEnough = () => boolean;

const NEVER: IsEnough = () => false;

/** Signs everything, and returns the apex as it is stored, without a new signature of the SOA. */
export function signWhole(signing: SigningZone): SignedOwner {
  signData(signing, undefined, NEVER);
  if (maintainsNsec(signing)) signChain(signing, APEX, NEVER);
  if (maintainsHashed(signing)) {
    hashNames(signing, APEX, NEVER);
    sweepNames(signing);
    linkNames(signing, APEX, NEVER);
  }
  return readSignedOwner(signatureOctets(signing.store, signing.row.zone, APEX)!);
}

/** Where a part ended. */
export interface PartEnd {
  /** What it has done last. */
  readonly cursor: Uint8Array;
  /** The delegation or DNAME above the last owner, or at it, which the next owner may be below. */
  readonly barrier?: Uint8Array | undefined;
}

/**
 * Signs the data of the owners after `from`, or of all. Undefined when none are left. Without a `barrier` in `from`, it is read
 * from what is stored. NSEC records whose next name is at hand are made along with it; the others are left to {@link
 * signChain}, which looks at all.
 */
export function signData(signing: SigningZone, from: PartEnd | undefined, isEnough: IsEnough): PartEnd | undefined {
  const { store, kept, zone } = signing;
  const after = from?.cursor;
  const stored = signaturesOfZone(store, kept, after ? Buffer.concat([after, Buffer.of(0)]) : APEX);
  const take = takeStored(signing, stored);
  let barrier = from?.barrier;
  let last = after;
  let held: Member | undefined;
  for (const served of unsignedOwners(store, zone, after)) {
    const { ownerKey } = served;
    if (last === after && from && !('barrier' in from)) barrier = storedBarrierAbove(signing, ownerKey);
    if (barrier && ownerKey.length > 0 && !isOwnerKeyBelow(ownerKey, barrier)) barrier = undefined;
    const own = signOwnerData(signing, served, barrier, take(ownerKey));
    if (!barrier && isBarrier(barrierOf(ownerKey, served.rrsets))) barrier = ownerKey;
    last = new Uint8Array(ownerKey);
    if (own.standing === 'occluded') storeSignedOwner(signing, last, own);
    else {
      if (held) storeMember(signing, held, last);
      held = { key: last, owner: own };
    }
    if (isEnough()) {
      if (held) storeSignedOwner(signing, held.key, held.owner);
      return { cursor: last, barrier };
    }
  }
  if (held) storeMember(signing, held, APEX);
  signing.rows.removeAfter(last ?? APEX);
  return undefined;
}

/** A name of the chain. */
interface Member {
  readonly key: Uint8Array;
  readonly owner: SignedOwner;
}

/** `next`: the next member of the chain. */
function storeMember(signing: SigningZone, { key, owner }: Member, next: Uint8Array): void {
  let { sets } = owner;
  if (maintainsNsec(signing)) {
    const stored = sets.find(({ denial }) => denial);
    sets = withSet(sets, signNsec(signing, key, owner, next, stored));
  }
  storeSignedOwner(signing, key, { ...owner, sets });
}

function signOwnerData(
  signing: SigningZone,
  served: ServedOwner,
  barrierAbove: Uint8Array | undefined,
  stored: SignedOwner | undefined,
): SignedOwner {
  const { ownerKey } = served;
  const barrier = barrierOf(ownerKey, served.rrsets);
  const standing: Standing = barrierAbove ? 'occluded' : barrier.isCut ? 'cut' : 'authority';
  const sets = signSets(signing, ownerKey, signedRRsets(served), standing, stored);
  const isIn = standing !== 'occluded' && maintainsNsec(signing);
  const nsec = isIn ? stored?.sets.find(({ denial }) => denial) : undefined;
  return { standing, redirects: barrier.redirects, sets: nsec ? withSet(sets, nsec) : sets };
}

/** Returns what is stored of one owner after the other; rows without an owner are removed. */
function takeStored(
  signing: SigningZone,
  rows: Iterator<SignatureRow>,
): (ownerKey: Uint8Array) => SignedOwner | undefined {
  let next = rows.next();
  return (ownerKey) => {
    for (; !next.done; next = rows.next()) {
      const order = compareBytes(next.value.owner_key, ownerKey);
      if (order > 0) return undefined;
      if (order === 0) {
        const { octets } = next.value;
        next = rows.next();
        return readSignedOwner(octets);
      }
      signing.rows.remove(next.value.owner_key);
    }
    return undefined;
  };
}

/**
 * Makes the NSEC records of the members of the chain from `from` on. Returns the next one to be made; undefined when none are
 * left.
 */
export function signChain(signing: SigningZone, from: Uint8Array, isEnough: IsEnough): Uint8Array | undefined {
  let pending: Member | undefined;
  for (const { owner_key: key, octets } of signaturesOfZone(signing.store, signing.row.zone, from)) {
    const owner = readSignedOwner(octets);
    if (owner.standing === 'occluded') continue;
    if (pending) link(signing, pending.key, pending.owner, key);
    if (pending && isEnough()) return new Uint8Array(key);
    pending = { key: new Uint8Array(key), owner };
  }
  if (pending) link(signing, pending.key, pending.owner, APEX);
  return undefined;
}

function link(signing: SigningZone, key: Uint8Array, owner: SignedOwner, next: Uint8Array): void {
  const stored = owner.sets.find(({ denial }) => denial);
  const nsec = signNsec(signing, key, owner, next, stored);
  // Kept as it is.
  if (stored && nsec.signatures === stored.signatures && equalBytes(nsec.denial!.rdata, stored.denial!.rdata)) return;
  storeSignedOwner(signing, key, { ...owner, sets: withSet(owner.sets, nsec) });
}
