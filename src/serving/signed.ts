/** What a signed zone serves beyond its records: keys, and at each owner the stored NSEC record and signatures. */
import { equalBytes } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import { ownerKeysDownTo } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { type Denial, nsec3ParamRdata } from '../dnssec/denial.js';
import { dsRdata, readPublicKey } from '../dnssec/key.js';
import { type DnssecKeyRow, keysOfZone } from '../store/dnssec/keys.js';
import { lastSignaturesBetween, signatureOctets } from '../store/dnssec/signatures.js';
import { type DnssecZoneRow, findDnssecZone } from '../store/dnssec/zones.js';
import type { Store } from '../store/driver.js';
import { directoryOrder, insertInOrder } from '../zone/derive/owner.js';
import { NEGATIVE_SOA_KEY } from '../zone/derive/soa.js';
import { isSignedElsewhere } from './signing.js';
import { digestOf, type SignedOwner, type SignedSet, standingOf } from './stored-signatures.js';

export interface ZoneSigning {
  readonly denial: Denial;
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  /** The rows from which it was made. */
  readonly row: DnssecZoneRow;
  readonly keys: readonly DnssecKeyRow[];
}

/** Whether a zone is signed elsewhere: it is served as it came, and nothing is added to it. */
export function isPresigned({ signing }: { readonly signing?: ZoneSigning | undefined }): boolean {
  return isSignedElsewhere(signing?.row);
}

/** TTL of the keys of a zone, seconds. */
export const KEY_TTL = 3600;
/** SHA-256 (RFC 8624 §3.3). */
const CDS_DIGEST = 2;
/** They ask the parent to remove its DS (RFC 8078 §4). */
const DELETE_CDS = Uint8Array.of(0, 0, 0, 0, 0);
const DELETE_CDNSKEY = Uint8Array.of(0, 0, 3, 0, 0);

/** How a zone is signed, or will be; undefined when it has no such row. */
export function signingOf(store: Store, apex: Uint8Array, zone: number): ZoneSigning | undefined {
  const row = findDnssecZone(store, zone);
  if (!row) return undefined;
  return { denial: denialOf(row), apex, row, keys: keysOfZone(store, zone) };
}

function denialOf({ denial, iterations, salt, opt_out: optOut }: DnssecZoneRow): Denial {
  return denial === 'nsec3' ? { kind: denial, iterations, salt, optOut: optOut === 1 } : { kind: denial };
}

/**
 * DNSKEY, CDS, CDNSKEY and NSEC3PARAM of the apex, without signatures. Digests take longer than all else that a small change
 * needs to know.
 */
function apexRRsets({ row, keys, apex, denial }: ZoneSigning): RRset[] {
  const published = keys.filter((key) => key.published === 1).map((key) => key.public);
  const named = keys.filter((key) => key.in_cds === 1).map((key) => key.public);
  const cds = row.delete_form ? [DELETE_CDS] : named.map((key) => dsRdata(apex, readPublicKey(key), CDS_DIGEST));
  const rrsets: RRset[] = [
    { type: Type.dnskey, ttl: KEY_TTL, rdatas: published },
    { type: Type.nsec3param, ttl: 0, rdatas: denial.kind === 'nsec3' ? [nsec3ParamRdata(denial)] : [] },
    { type: Type.cds, ttl: KEY_TTL, rdatas: cds },
    { type: Type.cdnskey, ttl: KEY_TTL, rdatas: row.delete_form ? [DELETE_CDNSKEY] : named },
  ];
  return rrsets.filter(({ rdatas }) => rdatas.length > 0);
}

/**
 * The RRsets of the apex with keys. Stored records of these types are left out, because a zone's keys are the service's, unless
 * it is signed elsewhere, or by others, too: then their DNSKEY records join ours.
 */
export function withApexRRsets(rrsets: readonly RRset[], signing: ZoneSigning): readonly RRset[] {
  const { row } = signing;
  if (isSignedElsewhere(row)) return rrsets;
  const own = rrsets.filter(({ type }) => !KEY_TYPES.has(type));
  const foreign = row.multi_signer === 1 ? rrsets.find(({ type }) => type === Type.dnskey)?.rdatas : undefined;
  return [...own, ...withForeignKeys(signing, foreign ?? [])].sort(directoryOrder);
}

const ENTRY_POINT = 1;

/**
 * The keys of all signers. The parent is asked for the DS records of all of them, as soon as it is asked for ours (RFC 8901
 * §4.1, RFC 8078 §1.2).
 */
function withForeignKeys(signing: ZoneSigning, foreign: readonly Uint8Array[]): readonly RRset[] {
  const { apex, row } = signing;
  const own = apexRRsets(signing);
  if (foreign.length === 0) return own;
  const entries = row.delete_form ? [] : foreign.filter((dnskey) => (dnskey[1]! & ENTRY_POINT) !== 0);
  const added = new Map<number, readonly Uint8Array[]>([
    [Type.dnskey, foreign],
    [Type.cds, entries.map((dnskey) => dsRdata(apex, readPublicKey(dnskey), CDS_DIGEST))],
    [Type.cdnskey, entries],
  ]);
  return own.map((rrset) => {
    const more = (added.get(rrset.type) ?? []).filter(
      (rdata) => !rrset.rdatas.some((known) => equalBytes(known, rdata)),
    );
    return more.length === 0 ? rrset : { ...rrset, rdatas: [...rrset.rdatas, ...more] };
  });
}

const KEY_TYPES: ReadonlySet<number> = new Set([Type.dnskey, Type.cds, Type.cdnskey, Type.nsec3param]);

/**
 * The RRsets of an owner with NSEC record and signatures. `owner`: what is stored of it; when nothing is, all are to be signed
 * and none is.
 */
export function withSignatures(
  { denial }: ZoneSigning,
  rrsets: readonly RRset[],
  owner: SignedOwner | undefined,
): readonly RRset[] {
  if (!owner) return rrsets.map((rrset) => signedBy(rrset, undefined));
  const { standing, sets } = owner;
  if (standing === 'occluded') return rrsets;
  const signed: RRset[] = [];
  for (const rrset of rrsets) {
    if (standing === 'cut' && rrset.type !== Type.ds) signed.push(rrset);
    else signed.push(signedBy(rrset, setOf(sets, rrset.type === NEGATIVE_SOA_KEY ? Type.soa : rrset.type)));
  }
  const nsec = denial.kind !== 'nsec3' ? setOf(sets, Type.nsec) : undefined;
  if (nsec) insertInOrder(signed, denialRRset(nsec));
  return signed;
}

/** What a load balancer may answer, with the signatures that are stored of it. */
export function signedVariants(rrsets: readonly RRset[], owner: SignedOwner | undefined): readonly RRset[] {
  if (owner && owner.standing !== 'authority') return rrsets;
  return rrsets.map((rrset) => {
    const digest = digestOf(rrset);
    const set = owner?.sets.find((each) => each.type === rrset.type && each.digest === digest);
    return { ...rrset, signatures: set?.signatures ?? [] };
  });
}

function setOf(sets: readonly SignedSet[], type: number): SignedSet | undefined {
  for (const set of sets) if (set.type === type) return set;
  return undefined;
}

/** The RRset of a stored NSEC or NSEC3 record. */
export function denialRRset({ type, denial, signatures }: SignedSet): RRset {
  return { type, ttl: denial!.ttl, rdatas: [denial!.rdata], signatures };
}

/** Data that is not known is answered with SERVFAIL, and not signed. */
function signedBy(rrset: RRset, set: SignedSet | undefined): RRset {
  if (rrset.rdatas.length === 0) return rrset;
  // The negative SOA has the data of the SOA, with its own TTL.
  const fits = set && (rrset.type === NEGATIVE_SOA_KEY || set.digest === digestOf(rrset));
  return { ...rrset, signatures: fits ? set.signatures : [] };
}

/**
 * Owner key of the last member of a zone's NSEC chain at or before this one: the owner of the record that matches or covers it.
 */
export function memberAtOrBefore(store: Store, zone: number, ownerKey: Uint8Array): Uint8Array {
  const apex = new Uint8Array(0);
  const own = signatureOctets(store, zone, ownerKey);
  if (own && standingOf(own).standing !== 'occluded') return ownerKey;
  const found = lastSignaturesBetween(store, zone, apex, ownerKey);
  if (!found) return apex;
  if (standingOf(found.octets).standing !== 'occluded') return found.owner_key;
  // The topmost delegation or DNAME above it is a member, and everything below that is occluded.
  return (
    ownerKeysDownTo(found.owner_key).find((ancestor) => {
      const octets = signatureOctets(store, zone, ancestor);
      return octets !== undefined && (standingOf(octets).standing === 'cut' || standingOf(octets).redirects);
    }) ?? apex
  );
}
