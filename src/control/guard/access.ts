/**
 * What an actor may see and change. Lists omit objects of other accounts, and a direct request for one is answered as if there were
 * none, so that nobody can ask which identifiers exist.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import { type AccountRow, allAccounts, findAccount, findAccountById } from '../../store/access/accounts.js';
import type { Store } from '../../store/driver.js';
import { findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { accountFailure } from './account-failures.js';
import type { Actor } from './actor.js';
import { decide, decideAnywhere, isRestricted, mayGive, rolesShowZone, showsZone } from './decision.js';
import { type Area, inRecordScopes, type Level, type Target } from './permissions.js';
import { type Precondition, requireState } from './precondition.js';

/** What of a context decides. */
export interface Asked {
  readonly store: Store;
  readonly actor: Actor;
  /** The state that the zone must have for the request. */
  readonly precondition?: Precondition;
}

/** The octets of an identifier, or undefined for any other text. */
export function parseId(text: string): Uint8Array | undefined {
  return text.length === 32 ? fromHex(text) : undefined;
}

export function maySeeAccount(actor: Actor, accountId: string): boolean {
  return actor.superAdministrator || actor.accountIds.includes(accountId);
}

export function maySeeZone(actor: Actor, zoneId: string, accountId: string): boolean {
  if (!maySeeAccount(actor, accountId) || (actor.zoneIds !== undefined && !actor.zoneIds.includes(zoneId)))
    return false;
  return rolesShowZone(actor, { account: accountId, zone: zoneId });
}

/** Identifier of the zone's account. */
export function accountIdOf(store: Store, { account }: ZoneRow): string {
  return toHex(findAccount(store, account)!.id);
}

/** A zone as a target of permissions. */
export function targetOfZone(
  store: Store,
  zone: ZoneRow,
): Target & { readonly account: string; readonly zone: string } {
  return { account: accountIdOf(store, zone), zone: toHex(zone.id) };
}

/** The actor if it may do this, restricted to records if its policies say so. Throws 403 otherwise. */
export function permitted(actor: Actor, area: Area, level: Level, target: Target): Actor {
  // A zone that appears in lists may be read: clients find its identifier there and then request it.
  const shown = area === 'zone' && level === 'read' && target.zone !== undefined && showsZone(actor, target);
  const decision = shown ? ({ allowed: true } as const) : decide(actor, area, level, target);
  if (!decision.allowed) throw accountFailure('outOfScope');
  return decision.records ? { ...actor, recordScopes: decision.records } : actor;
}

/** Throws 403 unless the actor may do this without being restricted to records. */
export function requirePermission(actor: Actor, area: Area, level: Level, target: Target): void {
  if (permitted(actor, area, level, target).recordScopes) throw accountFailure('outOfScope');
}

/** Throws 403 unless the actor may do this with anything at all. */
export function requireAnywhere(actor: Actor, area: Area, level: Level): void {
  if (!decideAnywhere(actor, area, level).allowed) throw accountFailure('outOfScope');
}

/**
 * Whether the actor may read every record of a zone that it sees. Who may read some of them must not learn about the others.
 */
export function readsAllRecords(actor: Actor, target: Target): boolean {
  const decision = decide(actor, 'dns', 'read', target);
  return decision.allowed && !decision.records;
}

/** Throws 403 unless the actor may pass this on: nobody gives what they do not have. */
export function requireGivable(actor: Actor, area: Area, level: Level, target: Target): void {
  if (!mayGive(actor, area, level, target)) throw accountFailure('outOfScope');
}

/** Throws 403 unless the actor may see and change records with this name (lower-case FQDN) and type (mnemonic). */
export function requireRecord({ recordScopes }: Actor, name: string, type: string): void {
  if (recordScopes && !inRecordScopes(recordScopes, name, type)) throw accountFailure('outOfScope');
}

/** Whether the actor may add zones to an account. A credential for certain zones cannot add others. */
export function mayAddZones(actor: Actor, accountId: string): boolean {
  if (!actor.policies && actor.zoneIds !== undefined) return false;
  const decision = decide(actor, 'zone', 'write', { account: accountId, zone: '*' });
  return decision.allowed && !decision.records;
}

/** Throws 403 unless the actor may add zones to one of its accounts at least. */
export function requireMayAddZones(actor: Actor): void {
  if (isRestricted(actor) && !actor.accountIds.some((id) => mayAddZones(actor, id))) throw accountFailure('outOfScope');
}

/** Whether buckets of accounts are the actor's business at all: a credential for zones has none. */
export function mayUseBuckets({ policies, zoneIds }: Actor): boolean {
  return policies !== undefined || zoneIds === undefined;
}

/** Throws unless the actor may change anything at all. */
export function requireWriter(actor: Actor): void {
  if (actor.readOnly) throw accountFailure('readOnly');
}

/**
 * The zone, if it exists, the actor may see it, and it is in the state that the request requires. A credential for certain zones gets
 * 403 for every other identifier, and any other credential 404 for every zone that is none of its own.
 */
export function requireZone(ctx: Asked, zoneId: string): ZoneRow {
  requireInScope(ctx.actor, zoneId);
  const zone = findVisibleZone(ctx, zoneId);
  if (!zone) throw zoneFailure('missing');
  if (ctx.precondition) requireState(zone, ctx.precondition);
  return zone;
}

/** Throws 403 when the actor is one for certain zones, and not for this one, whether there is such a zone or not. */
export function requireInScope({ zoneIds }: Actor, zoneId: string): void {
  if (zoneIds && !zoneIds.includes(zoneId)) throw zoneFailure('foreign');
}

/** The zone with this identifier, if the actor may see it. */
export function findVisibleZone({ actor, store }: Asked, zoneId: string): ZoneRow | undefined {
  const id = parseId(zoneId);
  const zone = id && findZoneById(store, id);
  return zone && maySeeZone(actor, zoneId, accountIdOf(store, zone)) ? zone : undefined;
}

/** The account, if it exists and the actor may see it. Only who sees all accounts learns that there is none. */
export function requireAccount(ctx: Asked, accountId: string): AccountRow {
  const id = parseId(accountId);
  const account = id && findAccountById(ctx.store, id);
  if (account && maySeeAccount(ctx.actor, toHex(account.id))) return account;
  throw ctx.actor.superAdministrator || !id
    ? accountFailure('missing', { id: accountId.slice(0, 64) })
    : accountFailure('foreign');
}

/** The named account. The default is the actor's first account, for the operator the oldest. */
export function chooseAccount(ctx: Asked, accountId: string | undefined): AccountRow {
  if (accountId) return requireAccount(ctx, accountId);
  const first = ctx.actor.accountIds[0];
  if (first) return requireAccount(ctx, first);
  const oldest = ctx.actor.superAdministrator ? allAccounts(ctx.store)[0] : undefined;
  if (!oldest) throw accountFailure('none');
  return oldest;
}
