/** Which zones' questions a caller may see. */

import { toHex } from '../../base/bytes.js';
import { accountIdOf, maySeeZone, readsAllRecords } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';

/** Identifiers of zones by their store numbers, for those that the caller may see; looked up once for each. */
export interface VisibleZones {
  /** Undefined for a zone that is not to be shown. */
  idOf(zone: number): string | undefined;
  /** Whether questions that no zone answered are shown too: to who may see everything. */
  readonly all: boolean;
}

export function visibleZones(context: Context): VisibleZones {
  const { actor } = context;
  const known = new Map<number, string | undefined>();
  return {
    // Not for limited credentials of administrators: authentication takes this from them.
    all: actor.superAdministrator,
    idOf(zone) {
      if (!known.has(zone)) known.set(zone, visibleId(context, zone));
      return known.get(zone);
    },
  };
}

/** Only one zone, which the caller may see. */
export function onlyZone({ seq, id }: ZoneRow): VisibleZones {
  return { all: false, idOf: (other) => (other === seq ? toHex(id) : undefined) };
}

function visibleId({ store, actor }: Context, seq: number): string | undefined {
  const zone = findZone(store, seq);
  if (!zone) return undefined;
  const id = toHex(zone.id);
  const account = accountIdOf(store, zone);
  if (!maySeeZone(actor, id, account)) return undefined;
  return readsAllRecords(actor, { zone: id, account }) ? id : undefined;
}
