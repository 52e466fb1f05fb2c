/**
 * From an owner's record rows to the RRsets that are served there: automatic TTLs, proxied addresses, and at the apex the SOA
 * and the service's name servers, which nobody wrote.
 */
import { Type } from '../../dns/codes.js';
import type { RRset } from '../../dns/rr.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
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
}

/** What of a zone matters to the served data. */
export interface ZoneFacts {
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
): RRset[] {
  const rrsets: RRset[] = [];
  if (isApex) rrsets.push(...soaRRsets(zone.soa));
  const byType = groupByType(zone, isApex, records, edge);
  for (const type of [...byType.keys()].sort((a, b) => a - b)) rrsets.push(byType.get(type)!);
  return rrsets.length > 1 ? rrsets.sort(directoryOrder) : rrsets;
}

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
): Map<number, RRset> {
  const byType = new Map<number, GrowingRRset>();
  const add = (type: number, ttl: number, rdata: Uint8Array): void => {
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
    if (record.proxied && !zone.dnsOnly) continue;
    // A CNAME cannot stand beside the apex's SOA and NS (RFC 1034 §3.6.2).
    if (record.type === Type.soa || (isApex && record.type === Type.cname)) continue;
    if (isApex && record.type === Type.ns && !zone.ownNameServers) continue;
    add(record.type, record.ttl === 1 ? AUTOMATIC_TTL : record.ttl, record.rdata);
  }
  if (isApex) for (const name of zone.nameServers) addNameServer(byType, zone.nsTtl, name, add);
  if (proxied.length > 0) {
    if (!proxied.every((record) => record.ipv6Only))
      for (const address of edge.ipv4) add(Type.a, AUTOMATIC_TTL, address);
    if (!proxied.every((record) => record.ipv4Only))
      for (const address of edge.ipv6) add(Type.aaaa, AUTOMATIC_TTL, address);
  }
  return byType;
}

function addNameServer(
  byType: ReadonlyMap<number, RRset>,
  ttl: number,
  name: Uint8Array,
  add: (type: number, ttl: number, rdata: Uint8Array) => void,
): void {
  const same = byType.get(Type.ns)?.rdatas.some((rdata) => Buffer.compare(rdata, name) === 0);
  if (!same) add(Type.ns, ttl, name);
}
