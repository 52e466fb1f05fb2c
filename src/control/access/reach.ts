/** What an actor may do, area by area, so that clients need not try. The checks themselves are in access.ts. */

import { mayAddZones, mayUseBuckets, requireAccount, requireZone, targetOfZone } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { decide, decideAnywhere } from '../guard/decision.js';
import { AREAS, type Area, type Level, type RecordScope } from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { isLimited } from './keys.js';

export interface Reach {
  readonly administrator: boolean;
  readonly email: string;
  /** The highest level for each area; null for none. */
  readonly areas: Readonly<Record<Area, Level | null>>;
  /** Whether it may add zones to an account of its own. */
  readonly createsZones: boolean;
  /** Whether it may read all records of all zones of an account of its own. */
  readonly allZones: boolean;
  /** The records to which `dns` is restricted; undefined for all. */
  readonly records?: readonly RecordScope[];
}

/** Asks about one zone, one account, or, without either, everything. */
export interface ReachQuery {
  readonly zoneId?: string | undefined;
  readonly accountId?: string | undefined;
}

/** What the actor may do in a zone, in an account, or anywhere. Throws as access.ts does for what it may not see. */
export async function reachOf(ctx: Context, { zoneId, accountId }: ReachQuery): Promise<Reach> {
  const { store } = ctx;
  if (accountId !== undefined) requireAccount(ctx, accountId);
  const actor = accountId === undefined ? ctx.actor : { ...ctx.actor, accountIds: [accountId] };
  const zone = zoneId === undefined ? undefined : requireZone(ctx, zoneId);
  const target = zone && targetOfZone(store, zone);
  const limited = isLimited(ctx);
  const decisionOf = (area: Area, level: Level) => {
    if (!actor.policies && !mayWithoutPolicies(actor, limited, area, level)) return { allowed: false };
    return target ? decide(actor, area, level, target) : decideAnywhere(actor, area, level);
  };
  const levelOf = (area: Area): Level | null =>
    decisionOf(area, 'write').allowed ? 'write' : decisionOf(area, 'read').allowed ? 'read' : null;
  const areas = Object.fromEntries(AREAS.map((area) => [area, levelOf(area)])) as Record<Area, Level | null>;
  const dns = decisionOf('dns', areas.dns ?? 'read');
  const records = 'records' in dns ? dns.records : undefined;
  const createsZones =
    !actor.readOnly && (actor.superAdministrator || actor.accountIds.some((account) => mayAddZones(actor, account)));
  const allZones = actor.zoneIds === undefined && actor.accountIds.some((account) => mayReadAllZones(actor, account));
  const { superAdministrator: administrator, email } = actor;
  return { administrator, email, areas, createsZones, allZones, ...(records && { records }) };
}

/** `limited`: to one account or certain zones. Such a credential makes and deletes no tokens, and one for zones has no buckets. */
function mayWithoutPolicies(actor: Actor, limited: boolean, area: Area, level: Level): boolean {
  if ((area === 'buckets' || area === 'objects') && !mayUseBuckets(actor)) return false;
  const makesTokens = area === 'userTokens' || area === 'accountTokens';
  return level === 'read' || (!actor.readOnly && !(makesTokens && limited));
}

function mayReadAllZones(actor: Actor, account: string): boolean {
  const decision = decide(actor, 'dns', 'read', { account, zone: '*' });
  return decision.allowed && !decision.records;
}
