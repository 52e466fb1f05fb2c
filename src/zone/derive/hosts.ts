/**
 * Name servers with names inside the zone they serve: without addresses there nobody could reach them (RFC 1034 §4.2.1). Those the
 * zone itself has no addresses of answer the service's own.
 */
import { Type } from '../../dns/codes.js';
import { isAtOrBelow, ownerKeyOf } from '../../dns/name.js';
import type { RecordFacts, ZoneFacts } from './owner.js';

/** What at a name keeps the service's addresses away: its own, or that it is somewhere else. */
const KEEPS_AWAY: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname, Type.ns, Type.dname]);

/** Owner keys of the zone's name servers below its apex, in canonical order. */
export function hostKeys({ apex, nameServers }: Pick<ZoneFacts, 'apex' | 'nameServers'>): Uint8Array[] {
  return nameServers
    .filter((name) => name.length > apex.length && isAtOrBelow(name, apex))
    .map((name) => ownerKeyOf(name, apex))
    .sort(Buffer.compare);
}

/** What is added to the records of such an owner. `addresses`: 4 or 16 octets each. */
export function hostRecords(
  records: readonly Pick<RecordFacts, 'type'>[],
  addresses: readonly Uint8Array[],
  ttl: number,
): RecordFacts[] {
  if (records.some(({ type }) => KEEPS_AWAY.has(type))) return [];
  return addresses.map((rdata) => ({ type: rdata.length === 4 ? Type.a : Type.aaaa, ttl, proxied: false, rdata }));
}
