/** Use cases of accounts and users. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import {
  type AccountRow,
  allAccounts,
  insertAccount,
  removeAccount,
  updateAccount,
} from '../../store/access/accounts.js';
import { hasSecondFactor } from '../../store/access/factors.js';
import { plainAddress } from '../../store/access/mail-address.js';
import { findMemberOf, insertMember } from '../../store/access/members.js';
import {
  abandonedUsers,
  countUsers,
  countUsersMadeBy,
  describeUser,
  findUserByEmail,
  findUserById,
  insertUser,
  removeUser,
  type UserDetails,
  type UserRow,
} from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { countBuckets } from '../../store/objects/buckets.js';
import { zoneIdsOfAccount } from '../../store/zones/zones.js';
import { maySeeAccount, parseId, requireAccount, requirePermission, requireWriter } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import type { AccountItem, UserItem } from './item.js';
import { ALL_ROLES } from './rights.js';

export interface AccountQuery extends PageQuery {
  /** Whole name, case ignored. */
  readonly name?: string;
}

export interface AccountInput {
  readonly name: string;
  readonly type?: 'standard' | 'enterprise';
  /** Whether its members must have a second factor; absent: as before. */
  readonly enforcesTwoFactor?: boolean | undefined;
  /** E-mail addresses of users who join it; missing users are created. */
  readonly members?: readonly string[];
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 1000;
const LONGEST_NAME = 100;
/** Users of an installation. Of what the others leave, an account may make half by inviting them, so that room is left. */
const MOST_USERS = 10_000;
/** How many who are gone are removed in one write. */
const MOST_REMOVED = 100;
const DAY_US = 24 * 3_600_000_000;

export function accountItem(row: AccountRow): AccountItem {
  const { id, name, type, created_at: createdAt, enforce_twofactor: enforced } = row;
  return { id: toHex(id), name, type, createdAt, enforcesTwoFactor: enforced === 1 };
}

function userItem(store: Store, row: UserRow): UserItem {
  return {
    id: toHex(row.id),
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    country: row.country,
    telephone: row.telephone,
    zipcode: row.zipcode,
    superAdministrator: row.super_administrator === 1,
    suspended: row.suspended === 1,
    hasSecondFactor: hasSecondFactor(store, row.seq),
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}

/** The actor's accounts; a super administrator sees all. Default 20 a page, at most 1000. */
export async function listAccounts(ctx: Context, query: AccountQuery): Promise<Page<AccountItem>> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  const name = query.name?.toLowerCase();
  const items = allAccounts(ctx.store)
    .filter((row) => maySeeAccount(ctx.actor, toHex(row.id)))
    .filter((row) => name === undefined || row.name.toLowerCase() === name)
    .map(accountItem);
  if (query.direction === 'desc') items.reverse();
  const start = (page - 1) * perPage;
  return { items: items.slice(start, start + perPage), page, perPage, totalCount: items.length };
}

/** Throws 404/7003 when there is none, 403/9109 when the actor may not see it. */
export async function getAccount(ctx: Context, accountId: string): Promise<AccountItem> {
  return accountItem(requireAccount(ctx, accountId));
}

/** Only for super administrators. */
export async function createAccount(ctx: Context, input: AccountInput): Promise<AccountItem> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const name = requireAccountName(input.name);
  const { value } = await commit(ctx, (draft) => {
    const account = addAccount(ctx, draft, name, input.type ?? 'standard');
    for (const email of input.members ?? []) {
      joinAccount(ctx, draft, findOrAddUser(ctx, draft, email, false), account);
    }
    return accountItem(account);
  });
  return value;
}

function requireAccountName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > LONGEST_NAME) {
    throw accountFailure('badInput', { reason: `An account's name has 1 to ${LONGEST_NAME} characters.` });
  }
  return name;
}

/** Gives the account another name, and says whether it enforces a second factor. Its type stays as it is. */
export async function editAccount(ctx: Context, accountId: string, input: AccountInput): Promise<AccountItem> {
  requireWriter(ctx.actor);
  const name = requireAccountName(input.name);
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const { seq, id, type } = account;
    if (input.type !== undefined && input.type !== type) {
      throw accountFailure('badInput', { reason: `The type of an account does not change: this one is ${type}.` });
    }
    const enforced = Number(input.enforcesTwoFactor ?? account.enforce_twofactor === 1);
    const after = { ...account, name, enforce_twofactor: enforced };
    if (enforced !== account.enforce_twofactor) {
      requirePermission(ctx.actor, 'members', 'write', { account: accountId });
    }
    if (name !== account.name || enforced !== account.enforce_twofactor) {
      updateAccount(ctx.store, after);
      const change = { before: described(account), after: described(after) };
      draft.event({ kind: 'account.edit', account: seq, id, name, ...change });
    }
    return accountItem(after);
  });
  return value;
}

/** The second factor only where it is enforced: most accounts have none. */
function described({ name, enforce_twofactor: enforced }: AccountRow): object {
  return { name, ...(enforced === 1 && { enforceTwoFactor: true }) };
}

/** Only for super administrators. The account must have no zones or buckets, and must not be the only one. */
export async function deleteAccount(ctx: Context, accountId: string): Promise<AccountItem> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const { seq, id, name } = account;
    const counts = [
      [zoneIdsOfAccount(ctx.store, id).length, 'zone'],
      [countBuckets(ctx.store, seq), 'bucket'],
    ] as const;
    const what = counts.flatMap(([count, noun]) => (count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`]));
    if (what.length > 0) throw accountFailure('inUse', { name, what: what.join(' and ') });
    if (allAccounts(ctx.store).length === 1) throw accountFailure('lastAccount', { name });
    draft.event({ kind: 'account.delete', account: seq, id, name, before: { name, type: account.type } });
    removeAccount(ctx.store, seq);
    return accountItem(account);
  });
  return value;
}

export function addAccount(ctx: Context, draft: Draft, name: string, type: 'standard' | 'enterprise'): AccountRow {
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const row = { id, name, type, created_at: draft.now };
  const account = { ...row, enforce_twofactor: 0, seq: insertAccount(ctx.store, row) };
  draft.event({ kind: 'account.create', account: account.seq, id, name, after: { name, type } });
  return account;
}

/** The user with an e-mail address; created if there is none. `account`: that invites the user. */
export function findOrAddUser(
  ctx: Context,
  draft: Draft,
  email: string,
  superAdministrator: boolean,
  account?: AccountRow,
): UserRow {
  const address = plainAddress(email);
  if (address === undefined)
    throw accountFailure('badInput', { reason: `${email.trim().slice(0, 60)} is not an e-mail address.` });
  // Who is known takes no place, but an account must not learn of it by being refused only for others.
  const invites = account && !ctx.actor.superAdministrator;
  if (invites) makeRoomForUser(ctx, draft, account);
  const known = findUserByEmail(ctx.store, address);
  if (known) return known;
  if (!invites) makeRoomForUser(ctx, draft, undefined);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const row = {
    id,
    email: address,
    first_name: null,
    last_name: null,
    super_administrator: superAdministrator ? 1 : 0,
    created_at: draft.now,
    modified_at: draft.now,
    country: null,
    telephone: null,
    zipcode: null,
    made_by: account?.id ?? null,
  };
  const user = { ...row, suspended: 0, seq: insertUser(ctx.store, row) };
  draft.event({ kind: 'user.create', id, name: address, after: { email: address, superAdministrator } });
  return user;
}

/** Throws when there is none, for users whom `account` makes. Who was invited, never signed in and is in no account goes first. */
function makeRoomForUser(ctx: Context, draft: Draft, account: AccountRow | undefined): void {
  const { store } = ctx;
  // Invitations are counted by the day: until then, their users stay.
  for (const { seq, id, email } of abandonedUsers(store, draft.now - DAY_US, MOST_REMOVED)) {
    removeUser(store, seq);
    draft.event({ kind: 'user.delete', id, name: email, before: { email } });
  }
  const all = countUsers(store);
  if (all >= MOST_USERS) throw accountFailure('badInput', { reason: `There are ${MOST_USERS} users already.` });
  if (!account) return;
  const own = countUsersMadeBy(store, account.id);
  if (own >= (MOST_USERS - (all - own)) / 2) throw accountFailure('usersOfOthers', { own });
}

/** Makes the user a member who may do everything. */
export function joinAccount(ctx: Context, draft: Draft, user: UserRow, account: AccountRow): void {
  if (findMemberOf(ctx.store, user.seq, account.seq)) return;
  requireRoomFor(ctx, account.seq, 'members');
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  insertMember(ctx.store, {
    id,
    user: user.seq,
    account: account.seq,
    created_at: draft.now,
    status: 'accepted',
    roles: ALL_ROLES,
    policies: null,
    accepted_at: draft.now,
    agreed: 1,
  });
  const after = { user: user.email, account: account.name };
  draft.event({ kind: 'membership.create', account: account.seq, id, name: user.email, after });
}

/** The user of the credential. */
export async function getUser(ctx: Context): Promise<UserItem> {
  const id = parseId(ctx.actor.userId);
  const row = id && findUserById(ctx.store, id);
  if (!row) throw accountFailure('none');
  return userItem(ctx.store, row);
}

/** What users say about themselves; absent members stay. */
export type UserEdit = { readonly [Name in keyof UserDetails]?: string | null | undefined };

/** Names and addresses of the credential's user. */
export async function editUser(ctx: Context, edit: UserEdit): Promise<UserItem> {
  requireWriter(ctx.actor);
  const { value } = await commit(ctx, (draft) => {
    const id = parseId(ctx.actor.userId);
    const row = id && findUserById(ctx.store, id);
    if (!row) throw accountFailure('none');
    const changed = DETAILS.filter((name) => edit[name] !== undefined && edit[name] !== row[name]);
    if (changed.length === 0) return userItem(ctx.store, row);
    const [before, after] = [row, edit].map((from) => Object.fromEntries(changed.map((name) => [name, from[name]])));
    const edited: UserRow = { ...row, ...after, modified_at: draft.now };
    describeUser(ctx.store, edited);
    draft.event({ kind: 'user.edit', id: row.id, name: row.email, before, after });
    return userItem(ctx.store, edited);
  });
  return value;
}

const DETAILS = ['first_name', 'last_name', 'country', 'telephone', 'zipcode'] as const satisfies (keyof UserDetails)[];
