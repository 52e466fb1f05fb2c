/**
 * From an owner's record rows to the RRsets that are served there: automatic TTLs, proxied names with their HTTPS records, and at
 * the apex the SOA and the service's name servers, which nobody wrote.
 */
import { Type } from '../../dns/codes.js';
import { lowerName } from '../../dns/name.js';
import type { RRset } from '../../dns/rr.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import { flattenedRRsets, NO_TARGETS, type TargetLookup } from './flatten.js';
import { type HttpVersions, httpsRRset } from './https.js';
import { type SoaFacts, soaRRsets } from './soa.js';

/** What of a record row matters to the served data. */
export interface RecordFacts {
  readonly type: number;
  /** Seconds; 1 is automatic (v4: §5.3). */
  readonly ttl: number;
  readonly proxied: boolean;
  readonly rdata: Uint8Array;
  /** `settings.ipv4_only` and `ipv6_only` of proxied records (v4: §5.3). */
  readonly ipv4Only?: boolean;
  readonly ipv6Only?: boolean;
  /** `settings.flatten_cname` of CNAME records (v4: §5.3). */
  readonly flattenCname?: boolean;
}

/** What of a zone matters to the served data. */
export interface ZoneFacts extends HttpVersions {
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  readonly soa: SoaFacts;
  /** Wire names of the name servers the service adds at the apex; none when the zone brings its own. */
  readonly nameServers: readonly Uint8Array[];
  /** TTL of those, seconds. */
  readonly nsTtl: number;
  /** The apex NS records clients wrote are served: the zone brings its own, or several providers serve it (v4: §8). */
  readonly ownNameServers: boolean;
  /** Proxied records answer their real content: paused zone or `zone_mode: dns_only`. */
  readonly dnsOnly: boolean;
  /** Every CNAME is flattened, not only those that must be (v4: §8). */
  readonly flattenAll?: boolean;
}

/** Addresses that proxied names answer: octets of A and of AAAA. */
export interface EdgeAddresses {
  readonly ipv4: readonly Uint8Array[];
  readonly ipv6: readonly Uint8Array[];
}

/** RRsets of one owner in directory order: SOA first, then by type. Empty when nothing is served there. */
export function deriveRRsets(
  zone: ZoneFacts,
  isApex: boolean,
  records: readonly RecordFacts[],
  edge: EdgeAddresses,
  targetOf: TargetLookup = NO_TARGETS,
): RRset[] {
  const rrsets: RRset[] = [];
  if (isApex) rrsets.push(...soaRRsets(zone.soa));
  const flattened = flattenedAlias(zone, isApex, records);
  const byType = groupByType(zone, isApex, records, edge, flattened);
  if (flattened) {
    const ttl = ttlOf(flattened);
    for (const rrset of flattenedRRsets(ttl, targetOf(lowerName(flattened.rdata)))) byType.set(rrset.type, rrset);
  }
  for (const type of [...byType.keys()].sort((a, b) => a - b)) rrsets.push(byType.get(type)!);
  return rrsets.length > 1 ? rrsets.sort(directoryOrder) : rrsets;
}

/**
 * The RRsets of one owner as they are written: SOA and name servers of the apex are there, but proxied records show what
 * they hold, and no CNAME is flattened.
 */
export function writtenRRsets(zone: ZoneFacts, isApex: boolean, records: readonly RecordFacts[]): RRset[] {
  const byType = groupByType({ ...zone, dnsOnly: true }, isApex, records, NO_EDGE, undefined);
  return [...(isApex ? soaRRsets(zone.soa) : []), ...byType.values()];
}

const NO_EDGE: EdgeAddresses = { ipv4: [], ipv6: [] };

/** SOA answers ANY at the apex; its negative twin comes last, where no question reaches it. */
function directoryOrder(a: RRset, b: RRset): number {
  return rank(a.type) - rank(b.type);
}

function rank(type: number): number {
  return type === Type.soa ? 0 : type;
}

interface GrowingRRset extends RRset {
  ttl: number;
  readonly rdatas: Uint8Array[];
}

function groupByType(
  zone: ZoneFacts,
  isApex: boolean,
  records: readonly RecordFacts[],
  edge: EdgeAddresses,
  flattened: RecordFacts | undefined,
): Map<number, RRset> {
  const byType = new Map<number, GrowingRRset>();
  const add: AddRecord = (type, ttl, rdata) => {
    const known = byType.get(type);
    if (!known) {
      byType.set(type, { type, ttl, rdatas: [rdata] });
      return;
    }
    // One TTL an RRset, the lowest (RFC 2181 §5.2).
    known.ttl = Math.min(known.ttl, ttl);
    known.rdatas.push(rdata);
  };
  const proxied = zone.dnsOnly ? [] : records.filter((record) => record.proxied);
  for (const record of records) {
    // One proxied record makes the name a proxied one: an origin's address beside the edge's would give the origin away.
    if (proxied.length > 0 && LEADS_TO_ORIGIN.has(record.type)) continue;
    if (record.type === Type.soa || record === flattened) continue;
    if (isApex && record.type === Type.ns && !zone.ownNameServers) continue;
    add(record.type, ttlOf(record), record.rdata);
  }
  if (isApex) for (const name of zone.nameServers) addNameServer(byType, zone.nsTtl, name, add);
  if (proxied.length > 0) addEdge(zone, proxied, edge, byType, add);
  return byType;
}

function ttlOf({ ttl }: RecordFacts): number {
  return ttl === 1 ? AUTOMATIC_TTL : ttl;
}

/**
 * The owner's CNAME, when its target's addresses are answered in its place: always where no CNAME can stand, at the apex and
 * beside other types (RFC 1034 §3.6.2), elsewhere when the record or the zone says so. A proxied one answers the edge.
 */
export function flattenedAlias(
  { dnsOnly, flattenAll }: Pick<ZoneFacts, 'dnsOnly' | 'flattenAll'>,
  isApex: boolean,
  records: readonly RecordFacts[],
): RecordFacts | undefined {
  const alias = records.find(({ type }) => type === Type.cname);
  if (!alias || (alias.proxied && !dnsOnly)) return undefined;
  const flattens = isApex || flattenAll || alias.flattenCname || records.some(({ type }) => type !== Type.cname);
  return flattens ? alias : undefined;
}

const LEADS_TO_ORIGIN: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname]);

type AddRecord = (type: number, ttl: number, rdata: Uint8Array) => void;

/** What a proxied name answers: the edge's addresses, and unless the zone has its own the HTTPS record that goes with them. */
function addEdge(
  zone: ZoneFacts,
  proxied: readonly RecordFacts[],
  edge: EdgeAddresses,
  byType: Map<number, GrowingRRset>,
  add: AddRecord,
): void {
  const ipv4 = proxied.every((record) => record.ipv6Only) ? [] : edge.ipv4;
  const ipv6 = proxied.every((record) => record.ipv4Only) ? [] : edge.ipv6;
  for (const address of ipv4) add(Type.a, AUTOMATIC_TTL, address);
  for (const address of ipv6) add(Type.aaaa, AUTOMATIC_TTL, address);
  const https = byType.has(Type.https) ? undefined : httpsRRset(zone, ipv4, ipv6);
  if (https) add(Type.https, https.ttl, https.rdatas[0]!);
}

function addNameServer(byType: ReadonlyMap<number, RRset>, ttl: number, name: Uint8Array, add: AddRecord): void {
  const same = byType.get(Type.ns)?.rdatas.some((rdata) => Buffer.compare(rdata, name) === 0);
  if (!same) add(Type.ns, ttl, name);
}
