/** What a caller may see as a whole: zones with all of their records, and accounts. */
import { toHex } from '../../base/bytes.js';
import { findAccount } from '../../store/access/accounts.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { type Asked, maySeeAccount, maySeeZone, readsAllRecords, targetOfZone } from './access.js';
import { decide } from './decision.js';

/** Identifiers of zones by their store numbers, for those that the caller may see; looked up once for each. */
export interface VisibleZones {
  /** Undefined for a zone that is not to be shown. */
  idOf(zone: number): string | undefined;
  /** Whether what belongs to no zone is shown too: to who may see everything. */
  readonly all: boolean;
}

export function visibleZones(asked: Asked): VisibleZones {
  const { actor } = asked;
  const known = new Map<number, string | undefined>();
  return {
    // Not for limited credentials of administrators: authentication takes this from them.
    all: actor.superAdministrator,
    idOf(zone) {
      if (!known.has(zone)) known.set(zone, visibleId(asked, zone));
      return known.get(zone);
    },
  };
}

/** Only one zone, which the caller may see. */
export function onlyZone({ seq, id }: ZoneRow): VisibleZones {
  return { all: false, idOf: (other) => (other === seq ? toHex(id) : undefined) };
}

function visibleId({ store, actor }: Asked, seq: number): string | undefined {
  const zone = findZone(store, seq);
  if (!zone) return undefined;
  const target = targetOfZone(store, zone);
  if (!maySeeZone(actor, target.zone, target.account)) return undefined;
  return readsAllRecords(actor, target) ? target.zone : undefined;
}

/** Whether the caller may read what belongs to an account (store number), beside its zones. */
export function readsAccount({ store, actor }: Asked, seq: number): boolean {
  const id = toHex(findAccount(store, seq)!.id);
  if (!maySeeAccount(actor, id) || actor.zoneIds !== undefined) return false;
  return decide(actor, 'account', 'read', { account: id }).allowed;
}
