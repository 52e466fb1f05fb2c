/**
 * The one decision on what an actor may do: what the policies of its credential allow, and what the roles of its user allow now. The
 * API, the dashboard, S3, signed updates and commands all ask it, at every request.
 */
import type { Actor } from './actor.js';
import {
  type Area,
  type Decision,
  decide as decideByPolicies,
  decideAnywhere as decideByPoliciesAnywhere,
  type Level,
  showsZone as policiesShowZone,
  type Target,
} from './permissions.js';
import { type Grant, grantsAllow, grantsAllowSomewhere, grantsAllowWholly, grantsShowZone } from './roles.js';

const ALLOWED: Decision = { allowed: true };
const DENIED: Decision = { allowed: false };

/** Whether anything but `readOnly` and the accounts and zones of the actor restricts it. */
export function isRestricted({ policies, grants }: Actor): boolean {
  return policies !== undefined || grants !== undefined;
}

/**
 * Whether two actors, of one request at different times, may do the same. Lists of zones follow from the rest: a request that adds a
 * zone in one write may go on with another.
 */
export function isAlike(a: Actor, b: Actor): boolean {
  const rightsOf = ({ superAdministrator, readOnly, accountIds, policies, grants }: Actor): string =>
    JSON.stringify([superAdministrator, readOnly, accountIds, policies, grants]);
  return rightsOf(a) === rightsOf(b);
}

/** Whether the actor may do this, and for which records. An actor without policies and grants may do everything in its accounts. */
export function decide(actor: Actor, area: Area, level: Level, target: Target): Decision {
  const { policies } = actor;
  const isGranted = grantsOf(actor, target).every((grants) => grantsAllow(grants, area, level, target));
  if (isOfAccount(area) && !isGranted) return DENIED;
  return policies ? decideByPolicies(policies, area, level, target) : ALLOWED;
}

/** Whether the actor may pass this on to others: for all zones (`*`), only what it may do in each of them. */
export function mayGive(actor: Actor, area: Area, level: Level, target: Target): boolean {
  const decision = decide(actor, area, level, target);
  if (!decision.allowed || decision.records) return false;
  return target.zone !== '*' || grantsOf(actor, target).every((grants) => grantsAllowWholly(grants, area, level));
}

/** Whether the actor may do this with any resource of its accounts; denials of single resources do not count. */
export function decideAnywhere(actor: Actor, area: Area, level: Level): Decision {
  const { policies, grants, accountIds } = actor;
  const isAllowed = (id: string): boolean => {
    const known = grants?.[id];
    return known === undefined || grantsAllowSomewhere(known, area, level);
  };
  if (grants && isOfAccount(area) && !accountIds.some(isAllowed)) return DENIED;
  return policies ? decideByPoliciesAnywhere(policies, area, level) : ALLOWED;
}

/** Whether the actor may do anything with a zone of its accounts: it then appears in lists. */
export function showsZone(actor: Actor, target: Target): boolean {
  const { policies } = actor;
  return rolesShowZone(actor, target) && (!policies || policiesShowZone(policies, target));
}

/** Whether the roles of the actor's user show it the zone. */
export function rolesShowZone(actor: Actor, target: Target): boolean {
  return grantsOf(actor, target).every((grants) => grantsShowZone(grants, target));
}

/** What belongs to a user is not the business of accounts. */
function isOfAccount(area: Area): boolean {
  return area !== 'user' && area !== 'memberships' && area !== 'userTokens';
}

/** The grants that count for a target: those of its account; for any account, all. */
function grantsOf({ grants }: Actor, { account }: Target): readonly (readonly Grant[])[] {
  if (!grants || account === undefined) return [];
  if (account === '*') return Object.values(grants);
  const known = grants[account];
  return known ? [known] : [];
}
