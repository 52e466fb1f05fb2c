/**
 * What an actor may see and change. Lists leave foreign things out without a word; a direct hit on a foreign zone is refused
 * (v4: Appendix B no. 5).
 */
import { fromHex, toHex } from '../base/bytes.js';
import { type AccountRow, accountStatements } from '../store/accounts.js';
import { type ZoneRow, zoneStatements } from '../store/zones.js';
import type { Actor, Context } from './context.js';
import { accountFailure, zoneFailure } from './errors.js';
import { requireState } from './precondition.js';

/** The octets of an identifier, or undefined when it is none. */
export function parseId(text: string): Uint8Array | undefined {
  return text.length === 32 ? fromHex(text) : undefined;
}

export function maySeeAccount(actor: Actor, accountId: string): boolean {
  return actor.superAdministrator || actor.accountIds.includes(accountId);
}

export function maySeeZone(actor: Actor, zoneId: string, accountId: string): boolean {
  return maySeeAccount(actor, accountId) && (actor.zoneIds === undefined || actor.zoneIds.includes(zoneId));
}

/** Throws unless the actor may change things at all. */
export function requireWriter(actor: Actor): void {
  if (actor.readOnly) throw accountFailure('readOnly');
}

/** The zone, when it exists, the actor may see it, and it is in the state the request demands. */
export function requireZone(ctx: Context, zoneId: string): ZoneRow {
  const id = parseId(zoneId);
  const zone = id && zoneStatements(ctx.store).byId.get(id);
  if (!zone) throw zoneFailure('missing');
  const account = accountStatements(ctx.store).bySeq.get(zone.account)!;
  if (!maySeeZone(ctx.actor, toHex(zone.id), toHex(account.id))) throw zoneFailure('foreign');
  if (ctx.precondition) requireState(zone, ctx.precondition);
  return zone;
}

/** The account, when it exists and the actor may see it. */
export function requireAccount(ctx: Context, accountId: string): AccountRow {
  const id = parseId(accountId);
  const account = id && accountStatements(ctx.store).byId.get(id);
  if (!account) throw accountFailure('missing', { id: accountId.slice(0, 64) });
  if (!maySeeAccount(ctx.actor, toHex(account.id))) throw accountFailure('foreign');
  return account;
}

/** The account named, or the one an actor works in when it names none: its first, for the operator the oldest. */
export function chooseAccount(ctx: Context, accountId: string | undefined): AccountRow {
  if (accountId) return requireAccount(ctx, accountId);
  const first = ctx.actor.accountIds[0];
  if (first) return requireAccount(ctx, first);
  const oldest = ctx.actor.superAdministrator ? accountStatements(ctx.store).all.all()[0] : undefined;
  if (!oldest) throw accountFailure('none');
  return oldest;
}
