/** What resolvers are given for an owner: the records of the change log, made the same way as the publisher makes answers. */
import { compareBytes, equalBytes } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { Store } from '../../store/driver.js';
import { targetFacts } from '../../store/flatten/targets.js';
import { UNKNOWN_DATA } from '../../store/log/changes.js';
import { parseSettings, type ServedTuple, servedRowsOfOwner } from '../../store/records/records.js';
import { nsTtlOfZone, soaOfZone, type ZoneRow } from '../../store/zones/zones.js';
import { edgeAddressesOf, zoneFactsOf } from '../../zone/derive/facts.js';
import type { TargetFacts } from '../../zone/derive/flatten.js';
import { hostKeys, hostRecords } from '../../zone/derive/hosts.js';
import { deriveRRsets, type RecordFacts } from '../../zone/derive/owner.js';
import { soaRdata } from '../../zone/derive/soa.js';
import type { ControlSettings } from './context.js';

/** One served record, its owner understood. */
export interface ServedRR {
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
  /** Told with it: it is stale (RFC 8767). */
  readonly extendedError?: number;
}

export function recordFactsOf([, type, ttl, proxied, rdata, settings]: ServedTuple): RecordFacts {
  const { ipv4_only: ipv4Only = false, ipv6_only: ipv6Only = false, flatten_cname } = parseSettings(settings);
  return { type, ttl, proxied: proxied === 1, rdata, ipv4Only, ipv6Only, flattenCname: flatten_cname === true };
}

/** All that is served at one owner, the SOA left out: its serial moves with every change anyway. */
export function servedAt(store: Store, zone: ZoneRow, ownerKey: Uint8Array, settings: ControlSettings): ServedRR[] {
  const { nameServers } = settings;
  const facts = zoneFactsOf(zone, soaOfZone(zone, nameServers), nsTtlOfZone(zone), nameServers);
  const stored = servedRowsOfOwner(store, zone.seq, ownerKey).map(recordFactsOf);
  const isHost = hostKeys(facts).some((key) => equalBytes(key, ownerKey));
  const rows = isHost ? [...stored, ...hostRecords(stored, settings.nameServerAddresses, facts.nsTtl)] : stored;
  const targetOf = (target: Uint8Array): TargetFacts | undefined => targetFacts(store, target);
  return deriveRRsets(facts, ownerKey.length === 0, rows, edgeAddressesOf(settings.edgeAddresses), targetOf)
    .filter(({ type }) => type !== Type.soa && type <= 0xffff)
    .flatMap(({ type, ttl, rdatas, extendedError }) =>
      rdatas.length === 0
        ? [{ type, ttl: 0, rdata: UNKNOWN_DATA }]
        : rdatas.map((rdata) => servedRR(type, ttl, rdata, extendedError)),
    );
}

function servedRR(type: number, ttl: number, rdata: Uint8Array, extendedError: number | undefined): ServedRR {
  return extendedError === undefined ? { type, ttl, rdata } : { type, ttl, rdata, extendedError };
}

/** The SOA a zone is served with. */
export function soaOf(zone: ZoneRow, { nameServers }: ControlSettings): ServedRR {
  const { soa } = zoneFactsOf(zone, soaOfZone(zone, nameServers), nsTtlOfZone(zone), nameServers);
  return { type: Type.soa, ttl: soa.ttl, rdata: soaRdata(soa) };
}

/** What has to be taken away from `before` and added to it so that it becomes `after`. */
export function diffServed(
  before: readonly ServedRR[],
  after: readonly ServedRR[],
): { readonly removed: readonly ServedRR[]; readonly added: readonly ServedRR[] } {
  const old = [...before].sort(compareServed);
  const fresh = [...after].sort(compareServed);
  const removed: ServedRR[] = [];
  const added: ServedRR[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const order = i === old.length ? 1 : j === fresh.length ? -1 : compareServed(old[i]!, fresh[j]!);
    if (order <= 0) {
      if (order < 0) removed.push(old[i]!);
      i++;
    }
    if (order >= 0) {
      if (order > 0) added.push(fresh[j]!);
      j++;
    }
  }
  return { removed, added };
}

function compareServed(a: ServedRR, b: ServedRR): number {
  if (a.type !== b.type) return a.type - b.type;
  if (!equalBytes(a.rdata, b.rdata)) return compareBytes(a.rdata, b.rdata);
  if (a.ttl !== b.ttl) return a.ttl - b.ttl;
  return (a.extendedError ?? 0) - (b.extendedError ?? 0);
}
