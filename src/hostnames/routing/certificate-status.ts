/** Whether certificates of a zone cover a name of it, in the words of clients. */
import { fromHex } from '../../base/bytes.js';
import { stateOf } from '../../certs/certificate-state.js';
import { isCovered } from '../../dns/certified.js';
import { lastingRequests } from '../../serving/certified-names.js';
import type { Store } from '../../store/driver.js';
import { findZoneById } from '../../store/zones/zones.js';

/**
 * `initializing`: a certificate will be requested. `deactivated`: none will cover the name, because that of the zone is switched off
 * or the name is two labels below it, so that a certificate pack is needed.
 */
export type CertificateCoverage = 'initializing' | 'pending' | 'active' | 'deactivated' | 'error';

/** `name`: lower case, without the final dot. `zoneId`: of the zone in which it lies, one of several with its name perhaps. */
export function certificateCoverage(store: Store, name: string, zoneId: string, nowMs: number): CertificateCoverage {
  return store.snapshot(() => {
    const row = findZoneById(store, fromHex(zoneId)!);
    if (!row) return 'deactivated';
    const states = lastingRequests(store, row.seq)
      .map((request) => stateOf(store, request, nowMs))
      .filter(({ names }) => isCovered(name, names));
    if (states.some(({ serving }) => serving)) return 'active';
    if (states.length > 0) return states.some(({ errors }) => errors.length > 0) ? 'error' : 'pending';
    return row.universal_certificate === 1 && isCovered(name, [row.name, `*.${row.name}`])
      ? 'initializing'
      : 'deactivated';
  });
}
