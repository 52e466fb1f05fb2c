/** How far the signing of a zone is. */

import { earliestHashedExpiry } from '../../store/dnssec/hashed.js';
import { countSignedOwners, earliestExpiry } from '../../store/dnssec/signatures.js';
import { type DnssecZoneRow, findDnssecZone } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { soaOfZone, type ZoneRow } from '../../store/zones/zones.js';
import { largestTtlOf, refreshSpan } from './signing/times.js';

export interface SigningState {
  readonly row: DnssecZoneRow;
  /** Owners with signatures, or known to need none. */
  readonly owners: number;
  /** When the first signature ends, seconds since 1970; undefined without signatures. */
  readonly earliestExpiry: number | undefined;
  /** When the first signature is replaced, seconds since 1970. */
  readonly nextRefresh: number | undefined;
}

/** Undefined for a zone that is not signed. `nameServers`: those of the service. */
export function stateOfSigning(store: Store, zone: ZoneRow, nameServers: readonly string[]): SigningState | undefined {
  const row = findDnssecZone(store, zone.seq);
  if (!row) return undefined;
  const ends = [earliestExpiry(store, zone.seq), earliestHashedExpiry(store, zone.seq)].filter(
    (end) => end !== undefined,
  );
  const earliest = ends.length > 0 ? Math.min(...ends) : undefined;
  return {
    row,
    owners: countSignedOwners(store, zone.seq),
    earliestExpiry: earliest,
    nextRefresh: earliest === undefined ? undefined : earliest - refreshSpanOfZone(zone, row, nameServers),
  };
}

/** How long before its end a signature of the zone is replaced, seconds. */
export function refreshSpanOfZone(zone: ZoneRow, row: DnssecZoneRow, nameServers: readonly string[]): number {
  const soa = soaOfZone(zone, nameServers);
  return refreshSpan(soa.expire, largestTtlOf(row, soa, zone));
}
