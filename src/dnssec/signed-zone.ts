/** The records of a signed zone: RRsets with their signatures, owner by owner in canonical order (RFC 4034 §6.1). */
import { compareBytes } from '../base/bytes.js';
import { sortInSteps } from '../base/slices.js';
import { Type } from '../dns/codes.js';
import { isAtOrBelow, isOwnerKeyBelow, lowerName, ownerKeyOf } from '../dns/name.js';
import type { RR } from '../dns/rr.js';
import { readSignature, type Signature } from './signature.js';

/** A record with its place in a file. */
export interface PlacedRR extends RR {
  readonly file: string | undefined;
  readonly line: number;
}

export interface SignedRRset {
  /** Seconds, from the first record. */
  readonly ttl: number;
  readonly rdatas: Uint8Array[];
  readonly first: PlacedRR;
}

export interface SignedOwner {
  /** Relative to the apex, see dns/name.ts. */
  readonly key: Uint8Array;
  /** Lower-case wire name. */
  readonly name: Uint8Array;
  /** Without RRSIG. */
  readonly rrsets: Map<number, SignedRRset>;
  /** By the type they cover. */
  readonly signatures: Map<number, PlacedSignature[]>;
  /**
   * The zone's relation to this name: authoritative, parent of a delegation here, or neither because of a delegation or
   * a DNAME above it.
   */
  standing: 'authority' | 'cut' | 'occluded';
}

export interface PlacedSignature extends Signature {
  readonly place: PlacedRR;
}

export interface SignedZone {
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  /**
   * In canonical order, the apex first. Owners of NSEC3 records are separate, because they are not names of the zone
   * (RFC 5155 §7.2.8).
   */
  readonly owners: readonly SignedOwner[];
  readonly hashedOwners: readonly SignedOwner[];
}

/** Groups the records of a zone, step by step. Records outside the apex are omitted. */
export function* groupSignedZone(apex: Uint8Array, records: Iterable<PlacedRR>): Generator<undefined, SignedZone> {
  const lower = lowerName(apex);
  const byKey = new Map<string, SignedOwner>();
  for (const record of records) {
    const name = lowerName(record.owner);
    if (isAtOrBelow(name, lower)) addRecord(byKey, name, ownerKeyOf(name, lower), record);
    yield;
  }
  const owners: SignedOwner[] = [];
  const hashedOwners: SignedOwner[] = [];
  for (const owner of yield* sortInSteps([...byKey.values()], (a, b) => compareBytes(a.key, b.key))) {
    (isHashedOwner(owner) ? hashedOwners : owners).push(owner);
    yield;
  }
  yield* markStanding(owners);
  return { apex: lower, owners, hashedOwners };
}

function addRecord(byKey: Map<string, SignedOwner>, name: Uint8Array, key: Uint8Array, record: PlacedRR): void {
  const text = Buffer.from(key).toString('latin1');
  let owner = byKey.get(text);
  if (!owner) {
    owner = { key, name, rrsets: new Map(), signatures: new Map(), standing: 'authority' };
    byKey.set(text, owner);
  }
  if (record.type === Type.rrsig) {
    const signature = { ...readSignature(record.rdata), place: record };
    const covering = owner.signatures.get(signature.typeCovered);
    if (covering) covering.push(signature);
    else owner.signatures.set(signature.typeCovered, [signature]);
    return;
  }
  const rrset = owner.rrsets.get(record.type);
  if (rrset) rrset.rdatas.push(record.rdata);
  else owner.rrsets.set(record.type, { ttl: record.ttl, rdatas: [record.rdata], first: record });
}

function isHashedOwner({ rrsets }: SignedOwner): boolean {
  return rrsets.size === 1 && rrsets.has(Type.nsec3);
}

/** Everything below a delegation or a DNAME is occluded; descendants follow their ancestor in canonical order. */
function* markStanding(owners: readonly SignedOwner[]): Generator<undefined, void> {
  let above: Uint8Array | undefined;
  for (const owner of owners) {
    yield;
    if (above && isOwnerKeyBelow(owner.key, above)) {
      owner.standing = 'occluded';
      continue;
    }
    const isCut = owner.key.length > 0 && owner.rrsets.has(Type.ns);
    if (isCut) owner.standing = 'cut';
    above = isCut || owner.rrsets.has(Type.dname) ? owner.key : undefined;
  }
}

/** The RRsets of the apex; none when the zone has no records there. */
export function apexRRsets({ owners }: SignedZone): ReadonlyMap<number, SignedRRset> {
  const [first] = owners;
  return first?.key.length === 0 ? first.rrsets : new Map();
}

/** Whether the zone is authoritative for an RRset: at a delegation only for DS and the denial (RFC 4035 §2.2). */
export function isAuthoritative({ standing }: SignedOwner, type: number): boolean {
  if (standing === 'cut') return type === Type.ds || type === Type.nsec;
  return standing === 'authority';
}
