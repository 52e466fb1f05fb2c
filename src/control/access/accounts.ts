/** Use cases of accounts and users. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import {
  type AccountRow,
  allAccounts,
  findAccount,
  insertAccount,
  removeAccount,
  renameAccount,
} from '../../store/access/accounts.js';
import { hasSecondFactor } from '../../store/access/factors.js';
import {
  findUserByEmail,
  findUserById,
  insertMembership,
  insertUser,
  membershipsOfUser,
  renameUser,
  type UserRow,
} from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { countBuckets } from '../../store/objects/buckets.js';
import { zoneIdsOfAccount } from '../../store/zones/zones.js';
import { maySeeAccount, parseId, requireAccount, requireWriter } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import type { AccountItem, MembershipItem, UserItem } from './item.js';

export interface AccountQuery extends PageQuery {
  /** Whole name, case ignored. */
  readonly name?: string;
}

export interface AccountInput {
  readonly name: string;
  readonly type?: 'standard' | 'enterprise';
  /** E-mail addresses of users who join it; missing users are created. */
  readonly members?: readonly string[];
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 1000;
const LONGEST_NAME = 100;
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,190}$/;

function accountItem(row: AccountRow): AccountItem {
  return { id: toHex(row.id), name: row.name, type: row.type, createdAt: row.created_at };
}

function userItem(store: Store, row: UserRow): UserItem {
  return {
    id: toHex(row.id),
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
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

/** Gives the account another name. Its type stays as it is. */
export async function editAccount(ctx: Context, accountId: string, input: AccountInput): Promise<AccountItem> {
  requireWriter(ctx.actor);
  const name = requireAccountName(input.name);
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    const { seq, id, type } = account;
    if (input.type !== undefined && input.type !== type) {
      throw accountFailure('badInput', { reason: `The type of an account does not change: this one is ${type}.` });
    }
    if (name !== account.name) {
      renameAccount(ctx.store, seq, name);
      const change = { before: { name: account.name }, after: { name } };
      draft.event({ kind: 'account.edit', account: seq, id, name, ...change });
    }
    return accountItem({ ...account, name });
  });
  return value;
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

/** The user with an e-mail address; created if there is none. */
export function findOrAddUser(ctx: Context, draft: Draft, email: string, superAdministrator: boolean): UserRow {
  const address = email.trim();
  if (!EMAIL.test(address))
    throw accountFailure('badInput', { reason: `${address.slice(0, 60)} is not an e-mail address.` });
  const known = findUserByEmail(ctx.store, address);
  if (known) return known;
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const row = {
    id,
    email: address,
    first_name: null,
    last_name: null,
    super_administrator: superAdministrator ? 1 : 0,
    created_at: draft.now,
    modified_at: draft.now,
  };
  const user = { ...row, suspended: 0, seq: insertUser(ctx.store, row) };
  draft.event({ kind: 'user.create', id, name: address, after: { email: address, superAdministrator } });
  return user;
}

export function joinAccount(ctx: Context, draft: Draft, user: UserRow, account: AccountRow): void {
  if (membershipsOfUser(ctx.store, user.seq).some((membership) => membership.account === account.seq)) return;
  requireRoomFor(ctx, account.seq, 'members');
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  insertMembership(ctx.store, { id, user: user.seq, account: account.seq, created_at: draft.now });
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

export interface UserEdit {
  readonly firstName?: string | null;
  readonly lastName?: string | null;
}

/** The names of the credential's user; those that are not given stay. */
export async function editUser(ctx: Context, { firstName, lastName }: UserEdit): Promise<UserItem> {
  requireWriter(ctx.actor);
  const { value } = await commit(ctx, (draft) => {
    const id = parseId(ctx.actor.userId);
    const before = id && findUserById(ctx.store, id);
    if (!before) throw accountFailure('none');
    const names = {
      first_name: firstName === undefined ? before.first_name : firstName,
      last_name: lastName === undefined ? before.last_name : lastName,
    };
    if (names.first_name === before.first_name && names.last_name === before.last_name)
      return userItem(ctx.store, before);
    const after = { ...before, ...names, modified_at: draft.now };
    renameUser(ctx.store, after);
    const { first_name, last_name } = before;
    const change = { before: { first_name, last_name }, after: names };
    draft.event({ kind: 'user.edit', id: before.id, name: before.email, ...change });
    return userItem(ctx.store, after);
  });
  return value;
}

/** The accounts of the credential's user. */
export async function listMemberships(ctx: Context): Promise<readonly MembershipItem[]> {
  const id = parseId(ctx.actor.userId);
  const user = id && findUserById(ctx.store, id);
  if (!user) return [];
  return membershipsOfUser(ctx.store, user.seq).map((row) => ({
    id: toHex(row.id),
    account: accountItem(findAccount(ctx.store, row.account)!),
    createdAt: row.created_at,
  }));
}
