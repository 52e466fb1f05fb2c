/** What the operator and administrators of the installation do with users. */
import { toHex } from '../../base/bytes.js';
import { findAccount } from '../../store/access/accounts.js';
import { hasSecondFactor } from '../../store/access/factors.js';
import { lastUseOfUser, membersOfUser } from '../../store/access/members.js';
import { removeSessionsOfUser } from '../../store/access/sessions.js';
import { allUsers, findUserByEmail, setSuspended, type UserRow } from '../../store/access/users.js';
import { findOrAddUser } from '../access/accounts.js';
import { accountFailure } from '../guard/account-failures.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { peopleFailure } from './errors.js';

export interface ListedUser {
  readonly id: string;
  readonly email: string;
  readonly superAdministrator: boolean;
  readonly suspended: boolean;
  readonly twoFactor: boolean;
  readonly lastUsedAt: number | null;
  /** Names of the accounts of which it is an accepted member. */
  readonly accounts: readonly string[];
}

/** All users, the oldest first. Only for administrators of the installation. */
export async function listUsers(ctx: Context): Promise<readonly ListedUser[]> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  return allUsers(ctx.store).map((row) => listed(ctx, row));
}

/** Adds a user who belongs to no account yet. Throws 400/1003 for a known address. */
export async function addUser(ctx: Context, email: string, superAdministrator: boolean): Promise<ListedUser> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const { value } = await commit(ctx, (draft) => {
    if (findUserByEmail(ctx.store, email)) throw peopleFailure('userExists', { email });
    return listed(ctx, findOrAddUser(ctx, draft, email, superAdministrator));
  });
  return value;
}

/**
 * Suspends a user, or lets it work again. From the next request on, none of its sessions, keys and tokens is accepted; its sessions
 * end for good.
 */
export async function suspendUser(ctx: Context, email: string, suspended: boolean): Promise<ListedUser> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const { value } = await commit(ctx, (draft) => {
    const row = findUserByEmail(ctx.store, email);
    if (!row) throw peopleFailure('userMissing', { email });
    if (row.suspended === Number(suspended)) return listed(ctx, row);
    setSuspended(ctx.store, row.seq, Number(suspended), draft.now);
    if (suspended) removeSessionsOfUser(ctx.store, row.seq);
    const kind = suspended ? 'user.suspend' : 'user.resume';
    draft.event({ kind, id: row.id, name: row.email, before: { suspended: !suspended }, after: { suspended } });
    return listed(ctx, { ...row, suspended: Number(suspended) });
  });
  return value;
}

function listed({ store }: Context, row: UserRow): ListedUser {
  const accepted = membersOfUser(store, row.seq).filter(({ status }) => status === 'accepted');
  return {
    id: toHex(row.id),
    email: row.email,
    superAdministrator: row.super_administrator === 1,
    suspended: row.suspended === 1,
    twoFactor: hasSecondFactor(store, row.seq),
    lastUsedAt: lastUseOfUser(store, row.seq),
    accounts: accepted.map(({ account }) => findAccount(store, account)!.name),
  };
}
