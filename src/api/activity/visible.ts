/** Which zones' questions a caller may see. */

import { toHex } from '../../base/bytes.js';
import { accountIdOf, maySeeZone } from '../../control/access/access.js';
import { decide } from '../../control/access/permissions.js';
import type { Actor, Context } from '../../control/write/context.js';
import { findZoneByName } from '../../store/zones/zones.js';

/** Identifiers of zones by their names, for those that the caller may see; looked up once for each name. */
export interface VisibleZones {
  /** Undefined for a zone that is not to be shown. */
  idOf(name: string): string | undefined;
  /** Whether questions that no zone answered are shown too: to who may see everything. */
  readonly all: boolean;
}

export function visibleZones(context: Context): VisibleZones {
  const { actor } = context;
  const known = new Map<string, string | undefined>();
  return {
    all: seesEverything(actor),
    idOf(name) {
      if (!known.has(name)) known.set(name, visibleId(context, name));
      return known.get(name);
    },
  };
}

/** Only one zone, which the caller may see. */
export function onlyZone(name: string, id: string): VisibleZones {
  return { all: false, idOf: (other) => (other === name ? id : undefined) };
}

function seesEverything({ superAdministrator, policies, zoneIds }: Actor): boolean {
  return superAdministrator && policies === undefined && zoneIds === undefined;
}

function visibleId({ store, actor }: Context, name: string): string | undefined {
  const zone = findZoneByName(store, name);
  if (!zone) return undefined;
  const id = toHex(zone.id);
  const account = accountIdOf(store, zone);
  if (!maySeeZone(actor, id, account)) return undefined;
  if (!actor.policies) return id;
  const decision = decide(actor.policies, 'dns', 'read', { zone: id, account });
  // Who may read some records of a zone must not learn the names of others.
  return decision.allowed && !decision.records ? id : undefined;
}
