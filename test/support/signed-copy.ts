/** A zone as it is served, signatures included, as a list of records. */

import { Type } from '../../src/dns/codes.js';
import { nameOfOwnerKey } from '../../src/dns/name.js';
import type { PlacedRR } from '../../src/dnssec/signed-zone.js';
import { type Verification, verifyZone } from '../../src/dnssec/verify.js';
import { servedOwners } from '../../src/serving/owner.js';
import { type ServingSettings, servingZone } from '../../src/serving/zone.js';
import type { Store } from '../../src/store/driver.js';
import { findZoneById } from '../../src/store/zones/zones.js';

/** Every record with its signatures, owner by owner. */
export function servedRecords(store: Store, settings: ServingSettings, zoneId: string): PlacedRR[] {
  const row = findZoneById(store, Buffer.from(zoneId, 'hex'))!;
  return store.snapshot(() => {
    const zone = servingZone(store, row, settings);
    return [...servedOwners(store, zone)].flatMap(({ ownerKey, rrsets }) => {
      const owner = nameOfOwnerKey(ownerKey, zone.facts.apex);
      return rrsets
        .filter(({ type }) => type <= 0xffff)
        .flatMap(({ type, ttl, rdatas, signatures = [] }) => [
          ...rdatas.map((rdata): PlacedRR => ({ owner, type, ttl, rdata, file: undefined, line: 0 })),
          ...signatures.map((rdata): PlacedRR => ({ owner, type: Type.rrsig, ttl, rdata, file: undefined, line: 0 })),
        ]);
    });
  });
}

/** What our own verification finds. `nowS`: seconds since 1970. */
export function verifyRecords(apex: Uint8Array, records: readonly PlacedRR[], nowS: number): Verification {
  const verifying = verifyZone(apex, records, nowS);
  for (;;) {
    const step = verifying.next();
    if (step.done) return step.value;
  }
}
