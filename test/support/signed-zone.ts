/**
 * Signs what a zone serves with the pure functions of src/dnssec, whole and at once: owners with their signatures and their
 * NSEC records, or hashed owners with NSEC3. The same zone as a file is for other servers and validators.
 */
import { compareBytes, toBase32Hex } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { isOwnerKeyBelow, isWildcard, nameOfLabels, nameOfOwnerKey, ownerKeysDownTo } from '../../src/dns/name.js';
import type { RRset } from '../../src/dns/rr.js';
import { printRecord } from '../../src/dns/zonefile/writer.js';
import {
  compactNsecRdata,
  type Denial,
  type HashedOwner,
  nsec3ParamRdata,
  nsec3Rdata,
  nsecRdata,
} from '../../src/dnssec/denial.js';
import { dsRdata, readPublicKey } from '../../src/dnssec/key.js';
import { hashOwner } from '../../src/dnssec/nsec3.js';
import { generateKey, openKey, type SigningKey } from '../../src/dnssec/signing-key.js';
import type { ServedOwner } from '../../src/serving/owner.js';
import { NEGATIVE_SOA_KEY } from '../../src/zone/derive/soa.js';
import { signRRset } from './sign-rrset.js';

export interface SignedZone {
  /** In canonical order. */
  readonly owners: readonly ServedOwner[];
  /** In the order of their hashes; empty with NSEC. */
  readonly hashedOwners: readonly HashedOwner[];
  /** The zone as a file; made each time. */
  readonly text: string;
  /** The lines of this file: a zone of a million names is longer than a string can be. */
  lines(): Iterable<string>;
  /** The DS record of its key, a line. */
  readonly ds: string;
}

type Standing = 'authority' | 'cut' | 'occluded';

interface Member {
  readonly owner: ServedOwner;
  /** Lower case. */
  readonly name: Uint8Array;
  readonly standing: Standing;
  readonly rrsets: readonly RRset[];
}

/** The keys of all zones of a run. */
const KEYS = ([257, 256] as const).map((flags) => {
  const { dnskey, pkcs8 } = generateKey(13, flags);
  return openKey(dnskey, pkcs8);
}) as [SigningKey, SigningKey];
/** The key that signs the records of zones. */
export const DATA_KEY: SigningKey = KEYS[1];
const KEY_TTL = 3600;

/** Signs a zone; `owners` in canonical order, the apex first. Signatures are valid from an hour ago for 30 days. */
export function signZone(apex: Uint8Array, owners: Iterable<ServedOwner>, denial: Denial): SignedZone {
  const members = [...standingsOf(apex, owners)];
  members[0] = withApexRecords(members[0]!, denial);
  const [soa, negative] = [Type.soa, NEGATIVE_SOA_KEY].map((type) => findRRset(members[0]!, type)!) as [RRset, RRset];
  const now = Math.floor(Date.now() / 1000);
  const times = { inception: now - 3600, expiration: now + 30 * 86_400 };
  const signatureOf = (owner: Uint8Array, rrset: RRset): Uint8Array =>
    signRRset(rrset.type === Type.dnskey ? KEYS[0] : KEYS[1], apex, owner, rrset, times);
  const ofSoa = signatureOf(apex, soa);
  const sign = (owner: Uint8Array, rrset: RRset): RRset => {
    const isSoa = rrset.type === Type.soa || rrset.type === NEGATIVE_SOA_KEY;
    return { ...rrset, signatures: [isSoa ? ofSoa : signatureOf(owner, rrset)] };
  };
  const ttl = negative.ttl;
  const chained = denial.kind === 'nsec3' ? members : withNsec(members, ttl, denial.kind === 'compact');
  const signed = chained.map(({ owner, name, standing, rrsets }) => ({
    ...owner,
    rrsets: rrsets.map((rrset) => (isSigned(standing, rrset.type) ? sign(name, rrset) : rrset)).sort(directoryOrder),
  }));
  const hashedOwners =
    denial.kind === 'nsec3'
      ? nsec3Chain(apex, members, denial).map(({ hash, rdata }) => ({
          hash,
          rrset: sign(hashedName(hash, apex), { type: Type.nsec3, ttl, rdatas: [rdata] }),
        }))
      : [];
  const [entryPoint] = KEYS;
  const ds = dsRdata(apex, readPublicKey(entryPoint.dnskey), 2);
  const lines = (): Iterable<string> => printZone(apex, signed, hashedOwners);
  return {
    owners: signed,
    hashedOwners,
    lines,
    get text() {
      return `${[...lines()].join('\n')}\n`;
    },
    ds: printRecord({ owner: apex, type: Type.ds, ttl: KEY_TTL, rdata: ds }),
  };
}

/** `<hash>.<apex>`. */
export function hashedName(hash: Uint8Array, apex: Uint8Array): Uint8Array {
  const label = Buffer.from(toBase32Hex(hash).toLowerCase(), 'latin1');
  return new Uint8Array(Buffer.concat([nameOfLabels([label]).subarray(0, -1), apex]));
}

function* standingsOf(apex: Uint8Array, owners: Iterable<ServedOwner>): Generator<Member> {
  let above: Uint8Array | undefined;
  for (const owner of owners) {
    const { ownerKey, rrsets } = owner;
    const name = nameOfOwnerKey(ownerKey, apex);
    const has = (type: number): boolean => rrsets.some((rrset) => rrset.type === type);
    if (above && isOwnerKeyBelow(ownerKey, above)) {
      yield { owner, name, standing: 'occluded', rrsets };
      continue;
    }
    const isCut = ownerKey.length > 0 && has(Type.ns) && !isWildcard(name);
    yield { owner, name, standing: isCut ? 'cut' : 'authority', rrsets };
    above = isCut || has(Type.dname) ? ownerKey : undefined;
  }
}

function withApexRecords(apex: Member, denial: Denial): Member {
  const dnskeys: RRset = { type: Type.dnskey, ttl: KEY_TTL, rdatas: KEYS.map(({ dnskey }) => dnskey) };
  const parameters: RRset[] =
    denial.kind === 'nsec3' ? [{ type: Type.nsec3param, ttl: 0, rdatas: [nsec3ParamRdata(denial)] }] : [];
  return { ...apex, rrsets: [...apex.rrsets, dnskeys, ...parameters] };
}

function findRRset({ rrsets }: Member, wanted: number): RRset | undefined {
  return rrsets.find(({ type }) => type === wanted);
}

/** At a cut only DS and NSEC belong to the zone (RFC 4035 §2.2). */
function isSigned(standing: Standing, type: number): boolean {
  if (standing === 'cut') return type === Type.ds || type === Type.nsec;
  return standing === 'authority';
}

function directoryOrder(a: RRset, b: RRset): number {
  const rank = ({ type }: RRset): number => (type === Type.soa ? 0 : type);
  return rank(a) - rank(b);
}

/** Types of an owner in the bitmap of its denial. */
function typesOf({ standing, rrsets }: Member): number[] {
  const types = rrsets.map(({ type }) => type).filter((type) => type <= 0xffff);
  return standing === 'cut' ? types.filter((type) => type === Type.ns || type === Type.ds) : types;
}

function withNsec(members: readonly Member[], ttl: number, isCompact: boolean): Member[] {
  const chain = members.filter(({ standing }) => standing !== 'occluded');
  const next = new Map(chain.map((member, i) => [member, chain[(i + 1) % chain.length]!.name]));
  return members.map((member) => {
    const following = next.get(member);
    if (!following) return member;
    const types = [...typesOf(member), Type.rrsig, Type.nsec];
    const rdata = isCompact ? compactNsecRdata(member.name, types) : nsecRdata(following, types);
    return { ...member, rrsets: [...member.rrsets, { type: Type.nsec, ttl, rdatas: [rdata] }] };
  });
}

type Hashing = Extract<Denial, { kind: 'nsec3' }>;

interface HashedMember {
  readonly hash: Uint8Array;
  readonly rdata: Uint8Array;
}

function nsec3Chain(apex: Uint8Array, members: readonly Member[], denial: Hashing): HashedMember[] {
  const types = new Map<string, { readonly name: Uint8Array; readonly types: readonly number[] }>();
  for (const member of members) {
    const { owner, name, standing } = member;
    if (standing === 'occluded') continue;
    const isInsecure = standing === 'cut' && !findRRset(member, Type.ds);
    if (isInsecure && denial.optOut) continue;
    for (const key of ownerKeysDownTo(owner.ownerKey).slice(0, -1)) {
      const text = Buffer.from(key).toString('latin1');
      if (!types.has(text)) types.set(text, { name: nameOfOwnerKey(key, apex), types: [] });
    }
    const own = isInsecure ? typesOf(member) : [...typesOf(member), Type.rrsig];
    types.set(Buffer.from(owner.ownerKey).toString('latin1'), { name, types: own });
  }
  const chain = [...types.values()]
    .map((entry) => ({ hash: hashOwner(entry.name, denial), types: entry.types }))
    .sort((a, b) => compareBytes(a.hash, b.hash));
  return chain.map((entry, i) => ({
    hash: entry.hash,
    rdata: nsec3Rdata(denial, chain[(i + 1) % chain.length]!.hash, entry.types),
  }));
}

function* printZone(
  apex: Uint8Array,
  owners: readonly ServedOwner[],
  hashedOwners: readonly HashedOwner[],
): Generator<string> {
  for (const { ownerKey, rrsets } of owners) {
    for (const rrset of rrsets) yield* printRRset(nameOfOwnerKey(ownerKey, apex), rrset);
  }
  for (const { hash, rrset } of hashedOwners) yield* printRRset(hashedName(hash, apex), rrset);
}

function* printRRset(owner: Uint8Array, { type, ttl, rdatas, signatures = [] }: RRset): Generator<string> {
  if (type > 0xffff) return;
  for (const rdata of rdatas) yield printRecord({ owner, type, ttl, rdata });
  for (const rdata of signatures) yield printRecord({ owner, type: Type.rrsig, ttl, rdata });
}

/** A trust anchor for `delv`: the DS line of a zone as a statement of its configuration. */
export function trustAnchor(ds: string): string {
  const [owner, , , , ...rdata] = ds.split(/\s+/);
  const [tag, algorithm, digestType, ...digest] = rdata;
  return `trust-anchors { "${owner}" static-ds ${tag} ${algorithm} ${digestType} "${digest.join('')}"; };\n`;
}
