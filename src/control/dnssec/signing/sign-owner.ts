/** The signatures of one owner: those that still fit are kept, the others are made. */
import { Type } from '../../../dns/codes.js';
import { nameOfOwnerKey } from '../../../dns/name.js';
import type { RRset } from '../../../dns/rr.js';
import { beginSignature, type SignatureTimes, signatureSize } from '../../../dnssec/sign.js';
import type { SigningKey } from '../../../dnssec/signing-key.js';
import { ownerText } from '../../../serving/difference.js';
import { digestOf, type SignedOwner, type SignedSet, type Standing } from '../../../serving/stored-signatures.js';
import { expirationOf, inceptionOf } from './signed-rows.js';
import { keyName, type SigningZone } from './signing-zone.js';
import { timesOfOwner } from './times.js';

/** Signed by the keys that a parent points to (RFC 7344 §4.1). */
const ENTRY_TYPES: ReadonlySet<number> = new Set([Type.dnskey, Type.cds, Type.cdnskey]);

/**
 * The signed RRsets of an owner without its NSEC record, by type. The SOA keeps what is stored of it: it is signed when the
 * serial is known ({@link signSoa}).
 */
export function signSets(
  signing: SigningZone,
  ownerKey: Uint8Array,
  rrsets: readonly RRset[],
  standing: Standing,
  stored: SignedOwner | undefined,
): SignedSet[] {
  if (standing === 'occluded') return [];
  const sets: SignedSet[] = [];
  for (const rrset of rrsets) {
    const { type, rdatas } = rrset;
    if (rdatas.length === 0 || type > 0xffff || (standing === 'cut' && type !== Type.ds)) continue;
    if (sets.some((set) => isOf(set, rrset))) continue;
    const known = storedOf(stored, rrset);
    if (type !== Type.soa) sets.push(signSet(signing, ownerKey, rrset, known));
    else if (known) sets.push(known);
  }
  return sets.sort(byType);
}

/** What is stored of an RRset. Load balancers have several of one type. */
function storedOf(stored: SignedOwner | undefined, rrset: RRset): SignedSet | undefined {
  const sets = stored?.sets.filter(({ type }) => type === rrset.type) ?? [];
  return sets.length > 1 ? sets.find((set) => isOf(set, rrset)) : sets[0];
}

function isOf(set: SignedSet, rrset: RRset): boolean {
  return set.type === rrset.type && set.digest === digestOf(rrset);
}

function byType(a: { readonly type: number }, b: { readonly type: number }): number {
  return a.type - b.type;
}

/** The RRset with its stored signatures if they fit, or with new ones. */
export function signSet(
  signing: SigningZone,
  ownerKey: Uint8Array,
  rrset: Pick<RRset, 'type' | 'ttl' | 'rdatas'>,
  stored: SignedSet | undefined,
): SignedSet {
  const digest = digestOf(rrset);
  if (stored && stored.digest === digest && areCurrent(signing, stored)) return stored;
  const { zone, done, times } = signing;
  const keys = keysFor(signing, rrset.type);
  const ownTimes = timesOfOwner(times, zone.facts.apex, ownerKey);
  done.signatures += keys.length;
  done.largestTtl = Math.max(done.largestTtl, rrset.ttl);
  const place = `${rrset.type} ${digest} ${ownerText(ownerKey)}`;
  const signatures = keys.map((key) => signatureBy(signing, key, place, ownerKey, rrset, ownTimes));
  return { type: rrset.type, digest, signatures };
}

/** The RRSIG by one key. `place`: tells signed data apart. */
function signatureBy(
  { signatures, zone, times: { now } }: SigningZone,
  key: SigningKey,
  place: string,
  ownerKey: Uint8Array,
  rrset: Pick<RRset, 'type' | 'ttl' | 'rdatas'>,
  times: SignatureTimes,
): Uint8Array {
  const name = `${key.algorithm} ${key.tag} ${place}`;
  const known = signatures.find(name);
  // Not one that was made before the clock was put back.
  if (known && inceptionOf(known) <= now) return known;
  const { apex } = zone.facts;
  const { head, octets } = beginSignature(key, apex, nameOfOwnerKey(ownerKey, apex), rrset, times);
  const rrsig = new Uint8Array(head.length + signatureSize(key));
  rrsig.set(head);
  signatures.make(name, { key, octets, rrsig });
  return rrsig;
}

function keysFor({ entryKeys, dataKeys }: SigningZone, type: number) {
  return ENTRY_TYPES.has(type) ? entryKeys : dataKeys;
}

/** Whether signatures are long valid, and resolvers need no others. */
function areCurrent(signing: SigningZone, { type, signatures }: SignedSet): boolean {
  const { known, exact } = signing;
  if (signatures.length === 0 || !signatures.every((rdata) => isLongValid(signing, rdata))) return false;
  const keys = keysFor(signing, type);
  const names = signatures.map((rdata) => keyName(rdata[2]!, (rdata[16]! << 8) | rdata[17]!));
  if (exact || ENTRY_TYPES.has(type)) {
    return names.length === keys.length && keys.every((key) => names.includes(keyName(key.algorithm, key.tag)));
  }
  // Every algorithm has to sign everything (RFC 4035 §2.2); each of its keys may have done it.
  const algorithms = signatures.map((rdata) => rdata[2]!);
  return names.every((name) => known.has(name)) && keys.every(({ algorithm }) => algorithms.includes(algorithm));
}

/** A clock that was ahead makes signatures that are not valid yet. */
function isLongValid({ times, row }: SigningZone, rdata: Uint8Array): boolean {
  const inception = inceptionOf(rdata);
  return expirationOf(rdata) >= times.refreshBefore && inception <= times.now && inception >= row.renew_before;
}

/** Stores an owner. `stored`: what is stored of it, if that is known. */
export function storeSignedOwner(
  { rows }: SigningZone,
  ownerKey: Uint8Array,
  owner: SignedOwner,
  stored?: SignedOwner,
): void {
  rows.put(ownerKey, owner, stored);
}

/** The sets of an owner with one of them replaced or added. */
export function withSet(sets: readonly SignedSet[], set: SignedSet): SignedSet[] {
  return [...sets.filter(({ type }) => type !== set.type), set].sort(byType);
}
