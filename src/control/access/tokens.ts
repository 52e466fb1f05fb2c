/** Use cases of API tokens of a user and of an account (v4: §12): list, get, create, edit, roll, delete. */
import { toHex } from '../../base/bytes.js';
import type { AccountRow } from '../../store/access/accounts.js';
import {
  countTokensOfAccount,
  countTokensOfUser,
  findKeyById,
  type KeyRow,
  keysOfUser,
  keysOwnedByAccount,
  setKeyHash,
  setKeyRevoked,
  updateKey,
} from '../../store/access/keys.js';
import { findUserById, type UserRow } from '../../store/access/users.js';
import { parseId, requireAccount } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { PERMISSION_GROUPS, type Policy } from '../guard/permissions.js';
import { commit } from '../kernel/commit.js';
import type { Context, Page, PageQuery } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { parseInstant } from '../rules/instant.js';
import type { KeyItem } from './item.js';
import { addKey, hashSecret, keyItem, makeSecret, readKeyName, refuseLimited, sealFor } from './keys.js';
import { type ConditionInput, readNetworks } from './networks.js';
import { type PolicyInput, readPolicies, requireNoMore } from './policy.js';

/** The owner of the tokens: the actor's user, or an account. */
export type TokenOwner = { readonly user: true } | { readonly account: string };

export interface TokenQuery extends PageQuery {
  readonly includeExpired?: boolean;
}

export interface NewToken {
  readonly token: KeyItem;
  /** Returned only here. */
  readonly secret: string;
}

/** A token as a client sends it; null means that a member is absent. */
export interface TokenInput {
  readonly name: string;
  readonly policies: readonly PolicyInput[];
  readonly condition?: ConditionInput | null | undefined;
  /** RFC 3339. */
  readonly not_before?: string | null | undefined;
  readonly expires_on?: string | null | undefined;
  readonly status?: 'active' | 'disabled' | 'expired' | null | undefined;
}

const DEFAULT_PER_PAGE = 20;
const MOST_PER_PAGE = 100;
const MOST_TOKENS = 5000;

/** Tokens that are not deleted, in the order of their creation. */
function ownedBy(ctx: Context, owner: TokenOwner): KeyRow[] {
  const account = accountOf(ctx, owner);
  const user = userOf(ctx);
  const all = account ? keysOwnedByAccount(ctx.store, account.seq) : user ? keysOfUser(ctx.store, user.seq) : [];
  return all.filter((row) => isListed(row, account));
}

function isListed(row: KeyRow, account: AccountRow | undefined): boolean {
  return row.kind === 'token' && row.revoked_at === null && (row.account_owned === 1) === (account !== undefined);
}

function accountOf(ctx: Context, owner: TokenOwner): AccountRow | undefined {
  return 'account' in owner ? requireAccount(ctx, owner.account) : undefined;
}

function userOf({ store, actor }: Context): UserRow | undefined {
  const id = parseId(actor.userId);
  return id && findUserById(store, id);
}

/** Throws 404/7003 when the owner has no such token. */
function requireToken(ctx: Context, owner: TokenOwner, tokenId: string): KeyRow {
  const account = accountOf(ctx, owner);
  const id = parseId(tokenId);
  // The others are not read: an owner may have thousands, each with very many permissions.
  const row = id && findKeyById(ctx.store, id);
  const isOwn = row && (account ? row.account === account.seq : row.user === userOf(ctx)?.seq);
  if (!isOwn || !isListed(row, account)) throw accountFailure('keyMissing', { id: tokenId.slice(0, 64) });
  return row;
}

export async function listTokens(ctx: Context, owner: TokenOwner, query: TokenQuery): Promise<Page<KeyItem>> {
  const page = query.page ?? 1;
  const perPage = Math.min(MOST_PER_PAGE, query.perPage ?? DEFAULT_PER_PAGE);
  const items = ownedBy(ctx, owner)
    .map((row) => keyItem(ctx, row))
    .filter(({ status }) => query.includeExpired !== false || status !== 'expired');
  if (query.direction === 'desc') items.reverse();
  return { items: items.slice((page - 1) * perPage, page * perPage), page, perPage, totalCount: items.length };
}

export async function getToken(ctx: Context, owner: TokenOwner, tokenId: string): Promise<KeyItem> {
  return keyItem(ctx, requireToken(ctx, owner, tokenId));
}

/**
 * Creates a token, with no more permissions than its creator. Throws 400/9207 for an invalid body, 403/10000 for
 * permissions that the actor cannot grant.
 */
export async function createToken(ctx: Context, owner: TokenOwner, input: TokenInput): Promise<NewToken> {
  const secret = makeSecret(ctx);
  const { value } = await commit(ctx, (draft) => {
    refuseLimitedMaker(ctx);
    const account = accountOf(ctx, owner);
    const user = userOf(ctx);
    if (!user) throw accountFailure('notAllowed');
    const tokens = account ? countTokensOfAccount(ctx.store, account.seq) : countTokensOfUser(ctx.store, user.seq);
    if (tokens >= MOST_TOKENS) throw accountFailure('badInput', { reason: `There are ${MOST_TOKENS} tokens already.` });
    const members = readToken(ctx, owner, input, draft.now);
    const disabled = readDisabled(input.status, 0) === 1;
    return addKey(
      ctx,
      draft,
      user,
      { ...members, disabled, kind: 'token', account: account?.seq ?? null, accountOwned: account !== undefined },
      secret,
    );
  });
  return { token: keyItem(ctx, value), secret };
}

/** Replaces the permissions and validity of a token; absent members return to their defaults. The secret stays. */
export async function replaceToken(
  ctx: Context,
  owner: TokenOwner,
  tokenId: string,
  input: TokenInput,
): Promise<KeyItem> {
  const { value } = await commit(ctx, (draft) => {
    refuseLimitedMaker(ctx);
    const row = requireToken(ctx, owner, tokenId);
    const { name, policies, networks, notBefore, expiresAt } = readToken(ctx, owner, input, draft.now);
    const before = keyItem(ctx, row);
    updateKey(ctx.store, row.seq, {
      name,
      policies: JSON.stringify(policies),
      networks: networks && JSON.stringify(networks),
      not_before: notBefore,
      expires_at: expiresAt,
      disabled: readDisabled(input.status, row.disabled),
      modified_at: draft.now,
    });
    const after = keyItem(ctx, findKeyById(ctx.store, row.id)!);
    draft.event({ kind: 'key.edit', id: row.id, account: row.account ?? undefined, name: after.name, before, after });
    return after;
  });
  return value;
}

/** Gives a token a new secret; the old one is invalid from then on. */
export async function rollToken(ctx: Context, owner: TokenOwner, tokenId: string): Promise<string> {
  const secret = makeSecret(ctx);
  await commit(ctx, (draft) => {
    const row = requireToken(ctx, owner, tokenId);
    // The actor receives the rolled token, so it must not have more permissions than the actor.
    if (toHex(row.id) !== ctx.actor.keyId) {
      refuseLimitedMaker(ctx);
      requireNoMore(ctx, keyItem(ctx, row));
    }
    const sealed = sealFor(ctx, row.id, keyItem(ctx, row), secret);
    setKeyHash(ctx.store, row.seq, hashSecret(ctx.store, secret), sealed, draft.now);
    draft.event({ kind: 'key.roll', id: row.id, name: row.name, account: row.account ?? undefined });
  });
  return secret;
}

export async function deleteToken(ctx: Context, owner: TokenOwner, tokenId: string): Promise<string> {
  const { value } = await commit(ctx, (draft) => {
    refuseLimitedMaker(ctx);
    const row = requireToken(ctx, owner, tokenId);
    setKeyRevoked(ctx.store, row, draft.now);
    draft.event({ kind: 'key.revoke', id: row.id, name: row.name, account: row.account ?? undefined });
    return toHex(row.id);
  });
  return value;
}

/**
 * A credential that the command line restricted cannot create tokens; one with policies can grant no more than these.
 */
function refuseLimitedMaker(ctx: Context): void {
  if (!ctx.actor.policies) refuseLimited(ctx);
}

interface TokenMembers {
  readonly name: string;
  readonly policies: readonly Policy[];
  readonly networks: KeyItem['networks'];
  readonly notBefore: number | null;
  readonly expiresAt: number | null;
}

function readToken(ctx: Context, owner: TokenOwner, input: TokenInput, now: number): TokenMembers {
  const notBefore = readTime(input.not_before, '/not_before');
  const expiresAt = readTime(input.expires_on, '/expires_on');
  if (expiresAt !== null && expiresAt <= now) throw badBody('expires_on is in the past', '/expires_on');
  if (expiresAt !== null && notBefore !== null && notBefore >= expiresAt) {
    throw badBody('not_before must come before expires_on', '/not_before');
  }
  return {
    name: readKeyName(input.name),
    policies: readPolicies(ctx, input.policies, 'account' in owner ? { account: owner.account } : {}),
    networks: readNetworks(input.condition),
    notBefore,
    expiresAt,
  };
}

function readTime(text: string | null | undefined, pointer: string): number | null {
  if (text === undefined || text === null) return null;
  const instant = parseInstant(text);
  if (instant === undefined) throw badBody('expected a time such as 2030-01-01T00:00:00Z', pointer);
  return instant;
}

/** The new value of the column `disabled`. An expired token that is sent back keeps its value. */
function readDisabled(status: TokenInput['status'], before: number): number {
  if (status === undefined || status === null || status === 'expired') return before;
  return status === 'disabled' ? 1 : 0;
}

/** The permissions of a token that the command line restricted, as policies. */
export function policiesOf(token: KeyItem, userId: string): readonly Policy[] {
  if (token.policies) return token.policies;
  const level = (entry: (typeof PERMISSION_GROUPS)[number]): boolean => !token.readOnly || entry.level === 'read';
  const ofScope = (...scopes: string[]): string[] =>
    PERMISSION_GROUPS.filter((entry) => scopes.includes(entry.scope) && level(entry)).map(({ id }) => id);
  const policy = (groups: string[], names: readonly string[]): Policy => ({
    id: token.id,
    effect: 'allow',
    groups,
    resources: Object.fromEntries(names.map((name) => [name, '*'])),
  });
  if (token.zoneIds)
    return [
      policy(
        ofScope('zone'),
        token.zoneIds.map((id) => `com.cloudflare.api.account.zone.${id}`),
      ),
    ];
  const account = policy(ofScope('zone', 'account'), [`com.cloudflare.api.account.${token.accountId ?? '*'}`]);
  return token.accountId === null
    ? [account, policy(ofScope('user'), [`com.cloudflare.api.user.${userId}`])]
    : [account];
}
