/**
 * Use cases of sessions: a browser exchanges a credential, or a link that works once, for a session. authentication.ts
 * checks sessions. As for credentials, only a keyed hash of the secret is stored.
 */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { allKeys, findKey, findKeyById, type KeyRow } from '../../store/access/keys.js';
import {
  allSessions,
  findSessionById,
  insertLoginLink,
  insertSession,
  removeLoginLink,
  removeLoginLinksOver,
  removeSession,
  removeSessionsOver,
  type SessionRow,
  sessionsOfCredential,
  sessionsOfUser,
  setSessionSecret,
} from '../../store/access/sessions.js';
import { findUser, type UserRow } from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { parseId } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { isSessionOver, LINK_MINUTES, SESSION_IDLE_US } from './authentication.js';
import type { SessionItem } from './item.js';
import { hashSecret, keyItem, makeSecret } from './keys.js';

/** How a session begins. */
export interface SignIn {
  readonly userAgent: string;
  /** Secret of the link that is used up by it. */
  readonly link?: string;
}

/** Sessions end after this time, in microseconds: seven days. */
const LIFETIME_US = 7 * 24 * 3_600_000_000;
/** Sessions of one credential; the one not used for the longest time ends when there are more. */
const MOST_SESSIONS = 100;
const LONGEST_USER_AGENT = 300;

/** Begins a session with the credential of the request. Only this call returns the secret. */
export async function startSession(
  ctx: Context,
  { userAgent, link }: SignIn,
): Promise<{ readonly session: SessionItem; readonly secret: string }> {
  const secret = makeSecret(ctx);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(asWriter(ctx), (draft) => {
    const { store, actor, address = '' } = ctx;
    const credential = findKeyById(store, parseId(actor.keyId ?? '')!)!;
    if (link !== undefined && !removeLoginLink(store, hashSecret(store, link))) throw accountFailure('linkUsed');
    removeSessionsOver(store, draft.now, draft.now - SESSION_IDLE_US);
    removeLoginLinksOver(store, draft.now);
    const others = sessionsOfCredential(store, credential.seq);
    endOldest(store, others);
    insertSession(store, {
      ...{ id, hash: hashSecret(store, secret), user: credential.user },
      ...{ credential: credential.seq, credential_hash: credential.hash },
      ...{ how: link === undefined ? 'credential' : 'credential link', ...NO_PROVIDER },
      ...placeOf(address, userAgent),
      ...timesFrom(draft.now),
    });
    draft.event({
      ...{ kind: 'session.create', id, name: credential.name, account: credential.account ?? undefined },
      after: { key: toHex(credential.id), byLink: link !== undefined },
    });
    return findSessionById(store, id)!;
  });
  return { session: sessionItem(ctx, value), secret };
}

const NO_PROVIDER = { provider: null, provider_subject: null, provider_session: null };

function placeOf(address: string, userAgent: string): Pick<SessionRow, 'address' | 'user_agent'> {
  return { address, user_agent: userAgent.slice(0, LONGEST_USER_AGENT) };
}

function timesFrom(now: number): Pick<SessionRow, 'created_at' | 'last_used_at' | 'expires_at' | 'proved_at'> {
  return { created_at: now, last_used_at: now, expires_at: now + LIFETIME_US, proved_at: now };
}

/** Makes room for one more. */
function endOldest(store: Store, others: readonly SessionRow[]): void {
  for (const { seq } of others.slice(0, Math.max(0, others.length + 1 - MOST_SESSIONS))) removeSession(store, seq);
}

/** What a person has proved, and to whom. */
export type Proof = Pick<SessionRow, 'how'> &
  Partial<Pick<SessionRow, 'provider' | 'provider_subject' | 'provider_session'>>;

/** Begins a session of a person who signs in as themself; inside a commit of that person. `secret`: a new one. */
export function addPersonSession(
  ctx: Context,
  draft: Draft,
  user: UserRow,
  { secret, userAgent, ...proof }: Proof & { readonly secret: string; readonly userAgent: string },
): SessionItem {
  const { store, address = '' } = ctx;
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  removeSessionsOver(store, draft.now, draft.now - SESSION_IDLE_US);
  endOldest(
    store,
    sessionsOfUser(store, user.seq).filter(({ credential }) => credential === null),
  );
  insertSession(store, {
    ...{ id, hash: hashSecret(store, secret), user: user.seq, credential: null, credential_hash: null },
    ...{ ...NO_PROVIDER, ...proof },
    ...placeOf(address, userAgent),
    ...timesFrom(draft.now),
  });
  draft.event({ kind: 'session.create', id, name: user.email, after: { how: proof.how } });
  return sessionItem(ctx, findSessionById(store, id)!);
}

/**
 * Gives a session another secret after the person has proved once more who they are, so that one that somebody knows from before is
 * worth nothing; inside a commit. `how`: all that was proved by now.
 */
export function renewSession(
  ctx: Context,
  draft: Draft,
  { seq, id }: SessionRow,
  secret: string,
  how: string,
): SessionItem {
  setSessionSecret(ctx.store, seq, hashSecret(ctx.store, secret), how, draft.now);
  return sessionItem(ctx, findSessionById(ctx.store, id)!);
}

/** Sessions change nothing that a credential protects, so those that may only read have them too. */
function asWriter(ctx: Context): Context {
  return { ...ctx, actor: { ...ctx.actor, readOnly: false } };
}

/** Sessions that the actor may see and end, the oldest first; see {@link mayEnd}. */
export async function listSessions(ctx: Context): Promise<readonly SessionItem[]> {
  const now = ctx.clock.nowMs() * 1000;
  return allSessions(ctx.store)
    .filter((row) => !isSessionOver(row, now) && isAlive(ctx, row) && mayEnd(ctx, row))
    .map((row) => sessionItem(ctx, row));
}

/** Whether the credential still is what it was when the session began. */
function isAlive(ctx: Context, { credential, credential_hash: hash }: SessionRow): boolean {
  if (credential === null || hash === null) return true;
  const row = findKey(ctx.store, credential)!;
  return Buffer.from(row.hash).equals(hash) && keyItem(ctx, row).status === 'active';
}

/** Its own; those of its user when the credential has all permissions; all sessions for a super administrator. */
function mayEnd({ store, actor }: Context, { credential, user }: SessionRow): boolean {
  const row = credential === null ? undefined : findKey(store, credential);
  if (actor.superAdministrator || (row && toHex(row.id) === actor.keyId)) return true;
  // Of a person, whatever their roles are in their accounts.
  const limited = actor.policies !== undefined || actor.zoneIds !== undefined || actor.readOnly;
  return (actor.kind === 'session' || !limited) && toHex(findUser(store, user)!.id) === actor.userId;
}

/** Ends a session. Throws 404/7003 when there is none that the actor may end. */
export async function endSession(ctx: Context, sessionId: string): Promise<string> {
  await commit(asWriter(ctx), (draft) => {
    const id = parseId(sessionId);
    const row = id && findSessionById(ctx.store, id);
    if (!row || !mayEnd(ctx, row)) throw accountFailure('sessionMissing', { id: sessionId.slice(0, 64) });
    const credential = row.credential === null ? undefined : findKey(ctx.store, row.credential);
    const name = credential?.name ?? findUser(ctx.store, row.user)!.email;
    removeSession(ctx.store, row.seq);
    draft.event({ kind: 'session.delete', id: row.id, name, account: credential?.account ?? undefined });
  });
  return sessionId;
}

function sessionItem(ctx: Context, row: SessionRow): SessionItem {
  const key = row.credential === null ? undefined : keyItem(ctx, findKey(ctx.store, row.credential)!);
  return {
    id: toHex(row.id),
    key: key && { id: key.id, name: key.name, kind: key.kind },
    how: row.how.split(' '),
    provedAt: row.proved_at,
    userEmail: findUser(ctx.store, row.user)!.email,
    address: row.address,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}

/**
 * A link that begins one session, with the oldest credential of a super administrator that has all permissions. Returns its
 * secret; only for the operator of the machine.
 */
export async function createLoginLink(ctx: Context, email?: string): Promise<string> {
  if (ctx.actor.kind !== 'operator') throw accountFailure('notAllowed');
  const secret = makeSecret(ctx);
  await commit(ctx, (draft) => {
    const credential = allKeys(ctx.store).find((row) => isAdministrators(ctx, row, email));
    if (!credential) throw accountFailure('noAdministrator', { who: email ?? 'a super administrator' });
    removeLoginLinksOver(ctx.store, draft.now);
    insertLoginLink(ctx.store, {
      hash: hashSecret(ctx.store, secret),
      credential: credential.seq,
      credential_hash: credential.hash,
      expires_at: draft.now + LINK_MINUTES * 60_000_000,
    });
    draft.event({ kind: 'login_link.create', id: credential.id, name: credential.name });
  });
  return secret;
}

function isAdministrators(ctx: Context, row: KeyRow, email: string | undefined): boolean {
  const user = findUser(ctx.store, row.user)!;
  if (user.super_administrator === 0) return false;
  if (email !== undefined && user.email.toLowerCase() !== email.trim().toLowerCase()) return false;
  const { status, accountId, zoneIds, readOnly, policies, networks, notBefore } = keyItem(ctx, row);
  const limits = [accountId, zoneIds, policies, networks, notBefore];
  return status === 'active' && !readOnly && limits.every((limit) => limit === null);
}
