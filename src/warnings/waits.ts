/** Findings about signed zones that wait for somebody outside: they are not warnings, but events report them. */
import { judgeZoneKeys } from '../control/dnssec/key-steps.js';
import { isSignedElsewhere } from '../serving/signing.js';
import { allDnssecZones } from '../store/dnssec/zones.js';
import type { Store } from '../store/driver.js';
import { findZone } from '../store/zones/zones.js';
import type { Finding, WarningKind } from './finding.js';

/** A warning, or one of these waits. */
export interface Condition extends Pick<Finding, 'zoneId' | 'text' | 'remedy'> {
  readonly kind: WarningKind | 'ds-awaited' | 'rollover-awaited';
}

/** Zones whose DS record the parent does not have yet, and rollovers that wait for the parent. */
export function examineWaits(store: Store, nowUs: number): Condition[] {
  return allDnssecZones(store).flatMap((row): Condition[] => {
    const zone = row.phase === 'signed' && !isSignedElsewhere(row) ? findZone(store, row.zone) : undefined;
    if (!zone) return [];
    const zoneId = Buffer.from(zone.id).toString('hex');
    if (row.state === 'pending') {
      return [{ kind: 'ds-awaited', zoneId, text: `the parent of ${zone.name} has no DS record for its keys yet` }];
    }
    const waits = judgeZoneKeys(store, row, nowUs).waits.filter(({ until }) => until === undefined);
    if (waits.length === 0) return [];
    return [
      { kind: 'rollover-awaited', zoneId, text: `a rollover of ${zone.name} waits for the DS record at its parent` },
    ];
  });
}
