/**
 * Derives the served RRsets of an owner from its record rows: automatic TTLs, proxied names with their HTTPS records,
 * and at the apex the SOA and the service's name servers, which have no rows.
 */
import { Type } from '../../dns/codes.js';
import { lowerName } from '../../dns/name.js';
import { type RRset, RRsetSource } from '../../dns/rr.js';
import { AUTOMATIC_TTL, servedTtl } from '../../dns/ttl.js';
import { flattenedRRsets, NO_TARGETS, type TargetLookup } from './flatten.js';
import { type HttpsFacts, httpsRRset } from './https.js';
import { type SoaFacts, soaRRsets } from './soa.js';

/** The parts of a record row that affect the served data. */
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
  /** `settings.origin_port`: where the edge connects to. Answers do not show it. */
  readonly originPort?: number;
}

/** The parts of a zone that affect the served data. */
export interface ZoneFacts extends HttpsFacts {
  readonly soa: SoaFacts;
  /** Wire names of the name servers that the service adds at the apex; empty when the zone has its own. */
  readonly nameServers: readonly Uint8Array[];
  /** TTL of these NS records in seconds. */
  readonly nsTtl: number;
  /**
   * Whether the stored apex NS records are served: the zone has its own name servers, or several providers serve it
   * (v4: §8).
   */
  readonly ownNameServers: boolean;
  /**
   * Whether proxied records answer their real content: paused zone, `zone_mode: dns_only`, or `enforce_dns_only` of the
   * account.
   */
  readonly dnsOnly: boolean;
  /** Whether every CNAME is flattened, not only those that must be (v4: §8). */
  readonly flattenAll?: boolean;
}

/** Addresses that proxied names answer: octets for A and AAAA. */
export interface EdgeAddresses {
  readonly ipv4: readonly Uint8Array[];
  readonly ipv6: readonly Uint8Array[];
}

/**
 * RRsets of one owner in directory order: SOA first, then by type. Empty when nothing is served. `ownerKey`: relative to
 * the apex, see dns/name.ts.
 */
export function deriveRRsets(
  zone: ZoneFacts,
  ownerKey: Uint8Array,
  records: readonly RecordFacts[],
  edge: EdgeAddresses,
  targetOf: TargetLookup = NO_TARGETS,
): RRset[] {
  const isApex = ownerKey.length === 0;
  // Nearly all owners of a large zone have only few ordinary records.
  if (!isApex && records.length <= FEW && records.every(isOrdinary)) return ordinaryRRsets(records);
  const rrsets: RRset[] = [];
  if (isApex) rrsets.push(...soaRRsets(zone.soa));
  const flattened = flattenedAlias(zone, isApex, records);
  const byType = groupByType(zone, ownerKey, records, edge, flattened);
  if (flattened) {
    const ttl = ttlOf(flattened);
    for (const rrset of flattenedRRsets(ttl, targetOf(lowerName(flattened.rdata)))) byType.set(rrset.type, rrset);
  }
  for (const type of [...byType.keys()].sort((a, b) => a - b)) rrsets.push(byType.get(type)!);
  return rrsets.length > 1 ? rrsets.sort(directoryOrder) : rrsets;
}

/** Records of an owner up to which its RRsets are searched one by one. */
const FEW = 8;

/** Whether the record is served as it is, whatever the settings of the zone. */
function isOrdinary({ type, proxied }: RecordFacts): boolean {
  return !proxied && type !== Type.cname && type !== Type.soa;
}

function ordinaryRRsets(records: readonly RecordFacts[]): RRset[] {
  const rrsets: GrowingRRset[] = [];
  for (const record of records) {
    const { type, rdata } = record;
    const known = rrsets.find((rrset) => rrset.type === type);
    if (known) addTo(known, ttlOf(record), rdata);
    else insertInOrder(rrsets, { type, ttl: ttlOf(record), rdatas: [rdata] });
  }
  return rrsets;
}

/** The RRsets of one owner without proxying and flattening; SOA and name servers of the apex are included. */
export function writtenRRsets(zone: ZoneFacts, ownerKey: Uint8Array, records: readonly RecordFacts[]): RRset[] {
  const byType = groupByType({ ...zone, dnsOnly: true }, ownerKey, records, NO_EDGE, undefined);
  return [...(ownerKey.length === 0 ? soaRRsets(zone.soa) : []), ...byType.values()];
}

const NO_EDGE: EdgeAddresses = { ipv4: [], ipv6: [] };

/** SOA answers ANY at the apex. Its negative form comes last, where no question finds it. */
export function directoryOrder(a: RRset, b: RRset): number {
  return rank(a.type) - rank(b.type);
}

/** Inserts an RRset into others that are in directory order. */
export function insertInOrder<T extends RRset>(rrsets: T[], added: T): void {
  let at = rrsets.length;
  while (at > 0 && directoryOrder(rrsets[at - 1]!, added) > 0) at--;
  if (at === rrsets.length) rrsets.push(added);
  else rrsets.splice(at, 0, added);
}

function rank(type: number): number {
  return type === Type.soa ? 0 : type;
}

interface GrowingRRset extends RRset {
  ttl: number;
  readonly rdatas: Uint8Array[];
}

/** An RRset has one TTL, the lowest (RFC 2181 §5.2). */
function addTo(known: GrowingRRset, ttl: number, rdata: Uint8Array): void {
  known.ttl = Math.min(known.ttl, ttl);
  known.rdatas.push(rdata);
}

function groupByType(
  zone: ZoneFacts,
  ownerKey: Uint8Array,
  records: readonly RecordFacts[],
  edge: EdgeAddresses,
  flattened: RecordFacts | undefined,
): Map<number, RRset> {
  const isApex = ownerKey.length === 0;
  const byType = new Map<number, GrowingRRset>();
  const add: AddRecord = (type, ttl, rdata, source) => {
    const known = byType.get(type);
    if (!known) {
      byType.set(type, { type, ttl, rdatas: [rdata], ...(source !== undefined && { source }) });
      return;
    }
    addTo(known, ttl, rdata);
  };
  const proxied = zone.dnsOnly ? [] : records.filter((record) => record.proxied);
  for (const record of records) {
    // One proxied record makes the whole name proxied: an origin address next to the edge's would reveal the origin.
    if (proxied.length > 0 && LEADS_TO_ORIGIN.has(record.type)) continue;
    if (record.type === Type.soa || record === flattened) continue;
    if (isApex && record.type === Type.ns && !zone.ownNameServers) continue;
    add(record.type, ttlOf(record), record.rdata);
  }
  if (isApex) for (const name of zone.nameServers) addNameServer(byType, zone.nsTtl, name, add);
  if (proxied.length > 0) addEdge({ zone, ownerKey, proxied, edge, byType }, add);
  return byType;
}

function ttlOf({ ttl }: RecordFacts): number {
  return servedTtl(ttl);
}

/**
 * The owner's CNAME if it is flattened: always where no CNAME is allowed, at the apex and with other types (RFC 1034
 * §3.6.2), elsewhere when the record or the zone says so. A proxied one answers the edge's addresses.
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

type AddRecord = (type: number, ttl: number, rdata: Uint8Array, source?: RRsetSource) => void;

interface ProxiedOwner {
  readonly zone: ZoneFacts;
  readonly ownerKey: Uint8Array;
  readonly proxied: readonly RecordFacts[];
  readonly edge: EdgeAddresses;
  readonly byType: ReadonlyMap<number, RRset>;
}

/**
 * Adds the answers of a proxied name: the edge's addresses, and the matching HTTPS record unless the zone has its own.
 */
function addEdge({ zone, ownerKey, proxied, edge, byType }: ProxiedOwner, add: AddRecord): void {
  const ipv4 = proxied.every((record) => record.ipv6Only) ? [] : edge.ipv4;
  const ipv6 = proxied.every((record) => record.ipv4Only) ? [] : edge.ipv6;
  for (const address of ipv4) add(Type.a, AUTOMATIC_TTL, address, RRsetSource.proxied);
  for (const address of ipv6) add(Type.aaaa, AUTOMATIC_TTL, address, RRsetSource.proxied);
  const https = byType.has(Type.https) ? undefined : httpsRRset(zone, ownerKey, ipv4, ipv6);
  if (https) add(Type.https, https.ttl, https.rdatas[0]!, RRsetSource.https);
}

function addNameServer(byType: ReadonlyMap<number, RRset>, ttl: number, name: Uint8Array, add: AddRecord): void {
  const same = byType.get(Type.ns)?.rdatas.some((rdata) => Buffer.compare(rdata, name) === 0);
  if (!same) add(Type.ns, ttl, name);
}
