/** What an actor may do, area by area, so that clients need not try. The checks themselves are in access.ts. */
import type { Context } from '../write/context.js';
import { accountIdOf, requireZone } from './access.js';
import { AREAS, type Area, decide, decideAnywhere, type Level, type RecordScope } from './permissions.js';

export interface Reach {
  readonly administrator: boolean;
  readonly email: string;
  /** The highest level for each area; null for none. */
  readonly areas: Readonly<Record<Area, Level | null>>;
  /** The records to which `dns` is restricted; undefined for all. */
  readonly records?: readonly RecordScope[];
}

/** What the actor may do with a zone, or with anything at all. Throws as access.ts does for the zone. */
export async function reachOf(ctx: Context, zoneId: string | undefined): Promise<Reach> {
  const { actor, store } = ctx;
  const zone = zoneId === undefined ? undefined : requireZone(ctx, zoneId);
  const target = zone && { zone: zoneId!, account: accountIdOf(store, zone) };
  const { policies } = actor;
  const decisionOf = (area: Area, level: Level) => {
    if (!policies) return { allowed: level === 'read' || !actor.readOnly } as const;
    return target ? decide(policies, area, level, target) : decideAnywhere(policies, area, level);
  };
  const levelOf = (area: Area): Level | null =>
    decisionOf(area, 'write').allowed ? 'write' : decisionOf(area, 'read').allowed ? 'read' : null;
  const areas = Object.fromEntries(AREAS.map((area) => [area, levelOf(area)])) as Record<Area, Level | null>;
  const dns = decisionOf('dns', areas.dns ?? 'read');
  const records = 'records' in dns ? dns.records : undefined;
  return { administrator: actor.superAdministrator, email: actor.email, areas, ...(records && { records }) };
}
