/** When a zone becomes active, and when its name counts as proven for its account (v4: §3.2). */
import { Type } from '../../dns/codes.js';
import { ownerKeyOf, toFqdn } from '../../dns/name.js';
import type { Store } from '../../store/driver.js';
import { recordsOfOwner } from '../../store/records/records.js';
import { assignedNameServers, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import { requireZone } from '../access/access.js';
import { commit } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { type ZoneItem, zoneItem } from './item.js';
import { changeZone, isBelowForeign, refuseHeld, servedZoneAbove } from './write.js';

/**
 * Checks the delegation again and activates the zone when it is right; returns the zone. A zone with the same name in
 * another account that was served until then is marked as moved (v4: §3.2). A name that another account holds is
 * refused (v4: §4). With activation 'trust', a request by an administrator proves the name.
 */
export async function checkActivation(ctx: Context, zoneId: string): Promise<ZoneItem> {
  const zone = requireZone(ctx, zoneId);
  if (zone.status !== 'active') refuseHeld(ctx, ctx.clock.nowUs(), zone);
  if (zone.status === 'active' && zone.proven === 1) return zoneItem(ctx, zone);
  if (zone.status !== 'active' && staysElsewhere(ctx, zone)) return zoneItem(ctx, zone);
  const free = zone.status !== 'active' && ctx.settings.activation === 'trust' && !isBelowForeign(ctx.store, zone);
  const proven = isVouchedFor(ctx) || (!free && (await isDelegated(ctx, zone)));
  if (zone.status === 'active') return zoneItem(ctx, proven ? await prove(ctx, zoneId) : zone);
  if (!proven && !free) return zoneItem(ctx, zone);
  const activated = await changeZone(ctx, zoneId, 'zone.activate', (current, draft) => {
    refuseHeld(ctx, draft.now, current);
    for (const other of zonesOfName(ctx.store, current.name)) {
      if (other.seq === current.seq || other.served === 0) continue;
      draft.setZone(other.seq, { status: 'moved', served: 0 });
      draft.noteZone(other.seq, 'zone-replaced');
      draft.audit({ action: 'zone.move', zone: other.id, object: other.id });
    }
    return { status: 'active', activated_at: draft.now, proven: proven ? 1 : 0 };
  });
  return zoneItem(ctx, activated);
}

/** Not part of the DNS data: the serial stays. */
async function prove(ctx: Context, zoneId: string): Promise<ZoneRow> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    draft.setZone(zone.seq, { proven: 1 });
    draft.audit({ action: 'zone.prove', zone: zone.id, object: zone.id });
    return requireZone(ctx, zoneId);
  });
  return value;
}

function isVouchedFor({ actor, settings }: Context): boolean {
  return actor.superAdministrator && settings.activation === 'trust';
}

/** With activation 'trust', a name that another account serves stays there. */
function staysElsewhere({ store, settings }: Context, zone: ZoneRow): boolean {
  if (settings.activation !== 'trust') return false;
  return zonesOfName(store, zone.name).some((other) => other.seq !== zone.seq && other.served === 1);
}

/** Whether the parent, here or outside, delegates the name to the zone's assigned name servers. */
async function isDelegated(ctx: Context, zone: ZoneRow): Promise<boolean> {
  const assigned = assignedNameServers(zone, ctx.settings.nameServers);
  const holdsAll = (names: readonly string[]): boolean => {
    const found = new Set(names.map((name) => name.toLowerCase().replace(/\.$/, '')));
    return assigned.every((name) => found.has(name));
  };
  if (holdsAll(delegationHere(ctx.store, zone))) return true;
  return holdsAll((await ctx.findDelegation?.(zone.name)) ?? []);
}

/** The NS records at the zone's name in its parent zone, if that is served here. */
export function delegationHere(store: Store, zone: ZoneRow): string[] {
  const parent = servedZoneAbove(store, zone.name);
  if (!parent) return [];
  const rows = recordsOfOwner(store, parent.seq, ownerKeyOf(zone.apex, parent.apex));
  return rows.filter(({ type }) => type === Type.ns).map(({ rdata }) => toFqdn(rdata));
}
