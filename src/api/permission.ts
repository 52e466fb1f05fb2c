/** Whether the credential of a request permits its route. Every route must name its area. */
import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify';
import { actorNow } from '../control/access/authentication.js';
import {
  findVisibleZone,
  maySeeAccount,
  permitted,
  requireAnywhere,
  requireInScope,
  requireMayAddZones,
  requirePermission,
  targetOfZone,
} from '../control/guard/access.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { isAlike, isRestricted } from '../control/guard/decision.js';
import { type Area, type Level, type Target, ZONE_AREAS } from '../control/guard/permissions.js';
import type { ContextBase } from '../control/kernel/context.js';
import { zoneFailure } from '../control/rules/zone-failures.js';
import type { Caller } from './request.js';

/** Throws at start-up for a route that needs a credential but names no area. */
export function requireArea({ url, method, config }: RouteOptions): void {
  if (config?.access !== undefined || config?.area !== undefined) return;
  throw new Error(`the route ${[method].flat().join('/')} ${url} names no area`);
}

/** The parts of a request that decide. */
export interface Asking extends Pick<FastifyRequest, 'method' | 'headers'> {
  readonly params: unknown;
  readonly routeOptions: {
    readonly config: Pick<FastifyContextConfig, 'area' | 'narrowable' | 'addsZones' | 'signsIn'>;
    readonly url?: string | undefined;
  };
}

/** Checks what the caller may do against the route; returns the caller with its restrictions. Throws 403/10000. */
export function permit(base: ContextBase, request: Asking, caller: Caller): Caller {
  const { area, narrowable, addsZones } = request.routeOptions.config;
  if (addsZones) requireMayAddZones(caller.actor);
  if (!isRestricted(caller.actor) || area === undefined || area === 'any') return caller;
  const level: Level = request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write';
  if (isOfOnlyAccount(request)) {
    requireAnywhere(caller.actor, area, level);
    return caller;
  }
  const target = targetOf(base, request, caller);
  if (target === undefined) return caller;
  if (narrowable) return { ...caller, actor: permitted(caller.actor, area, level, target) };
  requirePermission(caller.actor, area, level, target);
  return caller;
}

/**
 * Throws 403 when the caller of a request that is under way may not do any more what the route permitted it: its user was removed from
 * the account, has another role, or was suspended since. Asked inside its writes.
 */
export function requireStillPermitted(
  base: ContextBase,
  request: Asking & Pick<FastifyRequest, 'caller' | 'clientAddress'>,
): void {
  const { caller, clientAddress, routeOptions, params } = request;
  if (!caller || routeOptions.config.signsIn) return;
  const actor = actorNow(base, caller.actor, clientAddress, caller.session, caller.keyHash);
  if (!actor) throw accountFailure('outOfScope');
  if (isAlike(actor, caller.actor)) return;
  const { zone_id: zoneId, account_id: accountId } = (params ?? {}) as Readonly<Record<string, string | undefined>>;
  const { area } = routeOptions.config;
  // What the use case looked for itself, it looked for with what was permitted then.
  const isNamed = area !== 'any' && area !== undefined && (zoneId !== undefined || accountId !== undefined);
  if (!isNamed && !isOfUser(area)) throw accountFailure('outOfScope');
  if (accountId !== undefined && !maySeeAccount(actor, accountId)) throw accountFailure('foreign');
  if (accountId === undefined && zoneId !== undefined && !findVisibleZone({ store: base.store, actor }, zoneId)) {
    throw zoneFailure('missing');
  }
  if (actor.readOnly && request.method !== 'GET') throw accountFailure('readOnly');
  permit(base, request, { ...caller, actor });
}

/** What belongs to the user is the user's in whatever account. */
function isOfUser(area: Area | 'any' | undefined): boolean {
  return area === 'user' || area === 'memberships' || area === 'userTokens';
}

/** Routes of older clients mean the caller's only account, whatever that is: the use case finds and examines it. */
function isOfOnlyAccount({ routeOptions: { config, url = '' } }: Asking): boolean {
  return config.area === 'loadBalancing' && url.includes('/user/');
}

/** The target named by the path. Undefined for a zone that the caller does not see, which the use case reports. */
function targetOf({ store }: ContextBase, request: Asking, { actor }: Caller): Target | undefined {
  const params = (request.params ?? {}) as Readonly<Record<string, string | undefined>>;
  const { zone_id: zoneId, account_id: accountId, bucket_name: bucketName } = params;
  if (zoneId !== undefined) requireInScope(actor, zoneId);
  // What is of an account, such as a zone in its catalog, is so whether the caller sees the zone or not.
  if (zoneId !== undefined && accountId === undefined) {
    const zone = findVisibleZone({ store, actor }, zoneId);
    return zone && targetOfZone(store, zone);
  }
  if (accountId === undefined) return { user: actor.userId };
  // What is about the records of an account is about those of all its zones.
  const isOfZones = (ZONE_AREAS as readonly unknown[]).includes(request.routeOptions.config.area);
  if (bucketName === undefined) return { account: accountId, ...(isOfZones && { zone: '*' }) };
  const jurisdiction = request.headers['cf-r2-jurisdiction'];
  return { account: accountId, bucket: `${(jurisdiction ?? 'default').toString().toLowerCase()}_${bucketName}` };
}
