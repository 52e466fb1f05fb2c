/**
 * Name servers whose names are inside the zone they serve: without addresses in the zone they cannot be reached (RFC
 * 1034 §4.2.1). If the zone has no addresses for them, the service's own addresses are served.
 */
import { Type } from '../../dns/codes.js';
import { isAtOrBelow, ownerKeyOf } from '../../dns/name.js';
import type { RecordFacts, ZoneFacts } from './owner.js';

/** Types at a name that replace the service's addresses: its own addresses, an alias or a delegation. */
const KEEPS_AWAY: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname, Type.ns, Type.dname]);

/** Owner keys of the zone's name servers below its apex, in canonical order. */
export function hostKeys({ apex, nameServers }: Pick<ZoneFacts, 'apex' | 'nameServers'>): Uint8Array[] {
  return nameServers
    .filter((name) => name.length > apex.length && isAtOrBelow(name, apex))
    .map((name) => ownerKeyOf(name, apex))
    .sort(Buffer.compare);
}

/** The records that are added to such an owner. `addresses`: 4 or 16 octets each. */
export function hostRecords(
  records: readonly Pick<RecordFacts, 'type'>[],
  addresses: readonly Uint8Array[],
  ttl: number,
): RecordFacts[] {
  if (records.some(({ type }) => KEEPS_AWAY.has(type))) return [];
  return addresses.map((rdata) => ({ type: rdata.length === 4 ? Type.a : Type.aaaa, ttl, proxied: false, rdata }));
}
