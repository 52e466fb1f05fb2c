/** Which zones' questions a caller may see. */

import { toHex } from '../../base/bytes.js';
import { accountIdOf, maySeeZone, readsAllRecords } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
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
    // Not for limited credentials of administrators: authentication takes this from them.
    all: actor.superAdministrator,
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

function visibleId({ store, actor }: Context, name: string): string | undefined {
  const zone = findZoneByName(store, name);
  if (!zone) return undefined;
  const id = toHex(zone.id);
  const account = accountIdOf(store, zone);
  if (!maySeeZone(actor, id, account)) return undefined;
  return readsAllRecords(actor, { zone: id, account }) ? id : undefined;
}
