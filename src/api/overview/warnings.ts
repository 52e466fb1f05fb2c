/** Where the API takes warnings from: what the database shows, read apart where threads read, and what the processes know. */
import type { Actor } from '../../control/guard/actor.js';
import { visibleZones } from '../../control/guard/visible.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { findZoneById } from '../../store/zones/zones.js';
import { examineStore } from '../../warnings/examine.js';
import type { Finding } from '../../warnings/finding.js';
import type { Readers } from '../reading/readers.js';

export interface WarningSource {
  /** What the actor may know of. */
  findingsFor(actor: Actor): Promise<readonly Finding[]>;
}

/** `ofProcesses`: what the database does not show, for the operator. */
export function createWarningSource(
  { store, settings, clock }: Pick<ContextBase, 'store' | 'settings' | 'clock'>,
  readers: Pick<Readers, 'examine'> | undefined,
  ofProcesses: () => Promise<readonly Finding[]>,
): WarningSource {
  return {
    async findingsFor(actor) {
      const stored = readers ? await readers.examine(actor) : examineStore({ store, actor }, settings, clock.nowUs());
      const others = await ofProcesses();
      const zones = visibleZones({ store, actor });
      const isShown = ({ zoneId }: Finding): boolean => {
        const zone = zoneId === undefined ? undefined : findZoneById(store, Buffer.from(zoneId, 'hex'));
        return zones.all || (zone !== undefined && zones.idOf(zone.seq) !== undefined);
      };
      return [...others.filter(isShown), ...stored];
    },
  };
}
