/**
 * Use cases of credentials: create, list, revoke. authentication.ts checks them; tokens.ts has the API for clients' own
 * tokens. A secret is stored as HMAC-SHA256 under a pepper of the installation; because it is long and random, it needs
 * no slow hash. It is shown once and never written anywhere.
 */
import { equalBytes, toHex } from '../../base/bytes.js';
import { hmac } from '../../base/hmac.js';
import { makeId } from '../../base/random.js';
import { findAccount } from '../../store/access/accounts.js';
import {
  allKeys,
  findKeyByHash,
  findKeyById,
  insertKey,
  type KeyKind,
  type KeyRow,
  keysOfUser,
  setKeyRevoked,
} from '../../store/access/keys.js';
import { findUser, findUserByEmail, findUserById, hasUsers, type UserRow } from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { credentialPepper } from '../../store/meta.js';
import { parseId, requireAccount, requireZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { OPERATOR } from '../guard/actor.js';
import type { Policy } from '../guard/permissions.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { addAccount, findOrAddUser, joinAccount } from './accounts.js';
import type { KeyItem } from './item.js';
import { type Networks, readNetworks } from './networks.js';
import { type PolicyInput, readPolicies } from './policy.js';
import { reachesBuckets, type TokenLimits } from './secret-access-keys.js';

export interface KeyInput {
  readonly kind: KeyKind;
  readonly name: string;
  /** User of the credential, created if there is none with this address; the default is the actor's own user. */
  readonly email?: string;
  /** Account to which it is restricted; a new user joins it. */
  readonly accountId?: string;
  readonly zoneIds?: readonly string[];
  readonly readOnly?: boolean;
  /** Microseconds since 1970. */
  readonly expiresAt?: number;
  /** As clients write them; they restrict its permissions. */
  readonly policies?: readonly PolicyInput[];
  /** CIDR texts of the networks from which it may be used. */
  readonly networks?: readonly string[];
}

/** The stored data of a new credential, except its secret. */
export interface NewKey {
  readonly kind: KeyKind;
  readonly name: string;
  /** Store number. */
  readonly account: number | null;
  readonly zoneIds?: readonly string[];
  readonly readOnly?: boolean;
  readonly expiresAt?: number | null;
  readonly notBefore?: number | null;
  readonly policies?: readonly Policy[] | null;
  readonly networks?: Networks | null;
  readonly accountOwned?: boolean;
  readonly disabled?: boolean;
}

/** Characters of a generated secret, 6 bits each: 240 bits. */
const SECRET_LENGTH = 40;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The form of a secret that the operator chooses. */
const SECRET = /^[0-9A-Za-z_-]{37,200}$/;
const LONGEST_NAME = 120;

export function hashSecret(store: Store, secret: string): Uint8Array {
  return hmac(pepperOf(store), secret);
}

let lastPepper = Buffer.alloc(0);

/** The same buffer for as long as it is the same, because what depends on it is kept with it. */
function pepperOf(store: Store): Buffer {
  const octets = credentialPepper(store);
  if (!equalBytes(lastPepper, octets)) lastPepper = Buffer.from(octets);
  return lastPepper;
}

export function makeSecret(ctx: ContextBase): string {
  return Array.from(ctx.random.bytes(SECRET_LENGTH), (octet) => ALPHABET[octet & 63]).join('');
}

/** Creates a credential. Only this call returns the secret. */
export async function createKey(
  ctx: Context,
  input: KeyInput,
): Promise<{ readonly key: KeyItem; readonly secret: string }> {
  const name = readKeyName(input.name);
  const secret = makeSecret(ctx);
  const { value } = await commit(ctx, (draft) => {
    refuseLimited(ctx);
    const user = chooseUser(ctx, draft, input);
    const account = input.accountId === undefined ? undefined : requireAccount(ctx, input.accountId);
    for (const zoneId of input.zoneIds ?? []) requireZone(ctx, zoneId);
    const { networks, policies, ...rest } = input;
    const limits = {
      ...(policies === undefined ? {} : { policies: readPolicies(ctx, policies, {}) }),
      ...(networks === undefined ? {} : { networks: readNetworks({ request_ip: { in: networks } }) }),
    };
    return addKey(ctx, draft, user, { ...rest, ...limits, name, account: account?.seq ?? null }, secret);
  });
  return { key: keyItem(ctx, value), secret };
}

/** Throws 400 for an invalid name of a credential. */
export function readKeyName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > LONGEST_NAME) {
    throw accountFailure('badInput', { reason: `A credential's name has 1 to ${LONGEST_NAME} characters.` });
  }
  return name;
}

/** A credential that is restricted to an account or zones must not create an unrestricted one or revoke others. */
export function refuseLimited(ctx: Context): void {
  if (isLimited(ctx)) throw accountFailure('foreign');
}

/** Whether the credential is for one account or certain zones only. */
export function isLimited({ store, actor }: Context): boolean {
  const id = actor.keyId === undefined ? undefined : parseId(actor.keyId);
  const row = id && findKeyById(store, id);
  return row ? row.account !== null || row.zones !== null : false;
}

function chooseUser(ctx: Context, draft: Draft, { email, accountId }: KeyInput): UserRow {
  const own = parseId(ctx.actor.userId);
  const self = own && findUserById(ctx.store, own);
  if (email === undefined || email.toLowerCase() === self?.email.toLowerCase()) {
    if (!self) throw accountFailure('badInput', { reason: 'The e-mail address of the user is missing.' });
    return self;
  }
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const known = findUserByEmail(ctx.store, email.trim());
  if (known) return known;
  const user = findOrAddUser(ctx, draft, email, false);
  if (accountId !== undefined) joinAccount(ctx, draft, user, requireAccount(ctx, accountId));
  return user;
}

/** Stores a credential; inside a commit. */
export function addKey(ctx: Context, draft: Draft, user: UserRow, input: NewKey, secret: string): KeyRow {
  const hash = hashSecret(ctx.store, secret);
  if (findKeyByHash(ctx.store, hash)) throw accountFailure('keyExists');
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { kind, name, account, zoneIds, readOnly = false, expiresAt = null, notBefore = null } = input;
  const { policies = null, networks = null, accountOwned = false, disabled = false } = input;
  if (account !== null) requireRoomFor(ctx, account, 'tokens');
  insertKey(ctx.store, {
    id,
    user: user.seq,
    account,
    kind,
    name,
    hash,
    read_only: readOnly ? 1 : 0,
    zones: zoneIds === undefined ? null : JSON.stringify(zoneIds),
    created_at: draft.now,
    expires_at: expiresAt,
    policies: policies && JSON.stringify(policies),
    networks: networks && JSON.stringify(networks),
    not_before: notBefore,
    disabled: disabled ? 1 : 0,
    account_owned: accountOwned ? 1 : 0,
    s3_secret: kind === 'token' ? sealFor(ctx, id, { policies, zoneIds }, secret) : null,
  });
  const limits = { readOnly, zoneIds, policies, networks, notBefore, expiresAt, disabled };
  const after = { kind, name, user: user.email, accountOwned, ...limits };
  draft.event({ kind: 'key.create', id, name, account: account ?? undefined, after });
  return findKeyById(ctx.store, id)!;
}

/** The sealed secret of an S3 client, for a token that may use buckets and gets a new value; inside a commit. */
export function sealFor(
  { secretAccessKeys }: Context,
  id: Uint8Array,
  limits: TokenLimits,
  value: string,
): Uint8Array | null {
  return reachesBuckets(limits) ? (secretAccessKeys?.seal(id, value) ?? null) : null;
}

export function keyItem(ctx: ContextBase, row: KeyRow): KeyItem {
  const account = row.account === null ? undefined : findAccount(ctx.store, row.account);
  const expired = row.expires_at !== null && row.expires_at <= ctx.clock.nowMs() * 1000;
  return {
    id: toHex(row.id),
    kind: row.kind,
    name: row.name,
    userEmail: findUser(ctx.store, row.user)!.email,
    accountId: account ? toHex(account.id) : null,
    zoneIds: row.zones === null ? null : (JSON.parse(row.zones) as string[]),
    readOnly: row.read_only === 1,
    policies: row.policies === null ? null : (JSON.parse(row.policies) as Policy[]),
    networks: row.networks === null ? null : (JSON.parse(row.networks) as Networks),
    accountOwned: row.account_owned === 1,
    status: row.revoked_at !== null || row.disabled === 1 ? 'disabled' : expired ? 'expired' : 'active',
    createdAt: row.created_at,
    modifiedAt: row.modified_at ?? row.created_at,
    notBefore: row.not_before,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

/** Credentials that the actor may see: its own, or all for a super administrator. */
export async function listKeys(ctx: Context): Promise<readonly KeyItem[]> {
  if (ctx.actor.superAdministrator) return allKeys(ctx.store).map((row) => keyItem(ctx, row));
  const id = parseId(ctx.actor.userId);
  const user = id && findUserById(ctx.store, id);
  return user ? keysOfUser(ctx.store, user.seq).map((row) => keyItem(ctx, row)) : [];
}

/** Revokes a credential permanently. Revoking it again changes nothing. */
export async function revokeKey(ctx: Context, keyId: string): Promise<KeyItem> {
  const { value } = await commit(ctx, (draft) => {
    refuseLimited(ctx);
    const id = parseId(keyId);
    const row = id && findKeyById(ctx.store, id);
    const owner = row && toHex(findUser(ctx.store, row.user)!.id);
    if (!row || (!ctx.actor.superAdministrator && owner !== ctx.actor.userId)) {
      throw accountFailure('keyMissing', { id: keyId.slice(0, 64) });
    }
    if (setKeyRevoked(ctx.store, row, draft.now)) {
      draft.event({ kind: 'key.revoke', id: row.id, name: row.name, account: row.account ?? undefined });
    }
    return { ...row, revoked_at: row.revoked_at ?? draft.now };
  });
  return keyItem(ctx, value);
}

/**
 * Creates the first account, user and key of an installation; does nothing when a user exists. `secret` is present only
 * when a key was generated because none was given. Throws when the given key is too weak.
 */
export async function ensureFirstAdministrator(
  base: ContextBase,
  input: { readonly email: string; readonly key?: string },
): Promise<{ readonly created: boolean; readonly secret?: string }> {
  if (hasUsers(base.store)) return { created: false };
  if (input.key !== undefined && !SECRET.test(input.key)) {
    throw accountFailure('badInput', {
      reason: "The first administrator's key must have 37 to 200 letters, digits, hyphens or underscores.",
    });
  }
  const ctx: Context = { ...base, actor: OPERATOR, requestId: 'first-start', source: 'service' };
  const secret = input.key ?? makeSecret(base);
  const { value: created } = await commit(ctx, (draft) => {
    if (hasUsers(ctx.store)) return false;
    const account = addAccount(ctx, draft, `${input.email}'s Account`, 'standard');
    const user = findOrAddUser(ctx, draft, input.email, true);
    joinAccount(ctx, draft, user, account);
    addKey(ctx, draft, user, { kind: 'key', name: 'First administrator', account: null }, secret);
    return true;
  });
  return created && input.key === undefined ? { created, secret } : { created };
}
