/** Checks credentials and determines what their actors may see (v4: §2, Appendix B no. 5). */
import { timingSafeEqual } from 'node:crypto';
import { toHex } from '../../base/bytes.js';
import { withLimit } from '../../base/lifecycle.js';
import { allAccounts } from '../../store/access/accounts.js';
import { findKey, findKeyByHash, findKeyById, type KeyRow, setKeyLastUsed } from '../../store/access/keys.js';
import { isSameAddress } from '../../store/access/mail-address.js';
import {
  findLoginLink,
  findSessionByHash,
  findSessionById,
  type SessionRow,
  setSessionLastUsed,
} from '../../store/access/sessions.js';
import { findUser, findUserById, type UserRow } from '../../store/access/users.js';
import { perStore, type Store } from '../../store/driver.js';
import { StoreBusy, StoreFull } from '../../store/failures.js';
import { keptPerState } from '../../store/state/kept.js';
import { parseId } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { type Policy, policiesForZones } from '../guard/permissions.js';
import type { ContextBase } from '../kernel/context.js';
import type { KeyItem } from './item.js';
import { hashSecret, keyItem } from './keys.js';
import { isWithin } from './networks.js';
import { scopeOf } from './policy-scope.js';
import { noteRefusedSignIn } from './refused-sign-ins.js';
import { type Rights, rightsOfPerson } from './rights.js';

export type Authentication =
  | { readonly ok: true; readonly actor: Actor; readonly key: KeyItem; readonly hash: Uint8Array }
  | { readonly ok: false; readonly reason: 'unknown' | 'expired' | 'disabled' | 'location' };

const UNKNOWN = { ok: false, reason: 'unknown' } as const satisfies Authentication;

/** A link for signing in works for fifteen minutes. */
export const LINK_MINUTES = 15;
/** A session that is not used for so long has ended, in microseconds: twelve hours. */
export const SESSION_IDLE_US = 12 * 3_600_000_000;

/** The shortest time between two updates of `last_used_at`, in microseconds. */
const TOUCH_EVERY_US = 300_000_000;
const TOUCH_TIMEOUT_MS = 5;
/** A request waits no longer for that write, which goes on: in a cluster its log may be far away. */
const TOUCH_WAIT_MS = 50;

/** Checks `X-Auth-Email` with `X-Auth-Key`. `address`: source address of the request. */
export async function authenticateKey(
  base: ContextBase,
  email: string,
  secret: string,
  address: string,
): Promise<Authentication> {
  const row = keyOfSecret(base, secret);
  const user = row && findUser(base.store, row.user);
  const fits = row?.kind === 'key' && user !== undefined && isSameAddress(user.email, email);
  return fits ? admit(base, row, user, address) : UNKNOWN;
}

/** Checks the secret of `Authorization: Bearer`, which may also be a key. */
export async function authenticateToken(base: ContextBase, secret: string, address: string): Promise<Authentication> {
  return admitRow(base, keyOfSecret(base, secret), address);
}

/**
 * Checks the secret of a browser's session. A session does what its credential can do now, and ends with it: when the
 * credential is revoked, expires or gets another secret.
 */
export async function authenticateSession(
  base: ContextBase,
  secret: string,
  address: string,
): Promise<SessionAuthentication> {
  const { store, clock } = base;
  const hash = hashSecret(store, secret);
  const session = findSessionByHash(store, hash);
  if (!session || !timingSafeEqual(session.hash, hash) || isSessionOver(session, clock.nowMs() * 1000)) return UNKNOWN;
  const { credential } = session;
  const found: Authentication | PersonFound =
    credential === null ? admitPerson(base, session) : await admitRow(base, credentialOf(store, session), address);
  if (!found.ok) return found;
  await touchSession(base, session);
  return { ...found, session };
}

interface PersonFound {
  readonly ok: true;
  readonly actor: Actor;
  readonly key?: undefined;
  readonly hash?: undefined;
}

/** `key` undefined: the session is that of a person who signed in as themself. */
export type SessionAuthentication =
  | {
      readonly ok: true;
      readonly actor: Actor;
      readonly key?: KeyItem | undefined;
      readonly hash?: Uint8Array | undefined;
      readonly session: SessionRow;
    }
  | Extract<Authentication, { readonly ok: false }>;

function admitPerson({ store }: ContextBase, { user }: SessionRow): PersonFound | typeof UNKNOWN {
  const row = findUser(store, user);
  return row && row.suspended === 0 ? { ok: true, actor: actorOfPerson(store, row) } : UNKNOWN;
}

/** A person who signed in as themself, with what the user may do now. */
export function actorOfPerson(store: Store, user: UserRow): Actor {
  return {
    userId: toHex(user.id),
    email: user.email,
    kind: 'session',
    superAdministrator: user.super_administrator === 1,
    ...rightsOfPerson(store, user),
    readOnly: false,
  };
}

/** What a token of an account may do now, from any address; undefined if it may do nothing any more. */
export function actorOfAccountToken(base: ContextBase, id: Uint8Array): Actor | undefined {
  const row = findKeyById(base.store, id);
  const user = row && findUser(base.store, row.user);
  if (!user || row.account_owned === 0) return undefined;
  const key = keyItem(base, row);
  const isUsable = refusalOf(base, user, { ...key, networks: null }, '') === undefined;
  return isUsable ? actorOf(base, row, key, user).actor : undefined;
}

/** Checks the secret of a link for signing in; use cases of sessions.ts make it invalid when it is used. */
export async function authenticateLink(base: ContextBase, secret: string, address: string): Promise<Authentication> {
  const link = findLoginLink(base.store, hashSecret(base.store, secret));
  const leftUs = (link?.expires_at ?? 0) - base.clock.nowUs();
  // One that seems to last longer was made while the clock was ahead.
  if (!link || leftUs <= 0 || leftUs > LINK_MINUTES * 60_000_000) return UNKNOWN;
  return admitRow(base, credentialOf(base.store, link), address);
}

/** The credential of a session or link, unless it has another secret by now. */
function credentialOf(
  store: Store,
  { credential, credential_hash: hash }: Pick<SessionRow, 'credential' | 'credential_hash'>,
): KeyRow | undefined {
  if (credential === null || hash === null) return undefined;
  const row = findKey(store, credential);
  return row && timingSafeEqual(row.hash, hash) ? row : undefined;
}

/** Whether a session has ended by `now`, in microseconds since 1970. */
export function isSessionOver({ expires_at, last_used_at }: SessionRow, now: number): boolean {
  return expires_at <= now || last_used_at <= now - SESSION_IDLE_US;
}

async function admitRow(base: ContextBase, row: KeyRow | undefined, address: string): Promise<Authentication> {
  const found = row && findAdmitted(base, row, address);
  if (found) {
    await touch(base, row);
    return found;
  }
  const user = row && findUser(base.store, row.user);
  return row && user ? admit(base, row, user, address) : UNKNOWN;
}

function keyOfSecret(base: ContextBase, secret: string): KeyRow | undefined {
  const hash = hashSecret(base.store, secret);
  return findCredential(base, hash, toHex(hash));
}

/** The look-up uses the hash, whose timing reveals nothing to a client; the comparison still takes constant time. */
function keyOfHash(store: Store, hash: Uint8Array): KeyRow | undefined {
  const row = findKeyByHash(store, hash);
  return row && timingSafeEqual(row.hash, hash) ? row : undefined;
}

const credentials = keptPerState<KeyRow>(1000);

/** The credential whose secret has this hash. `name`: the hash as text. */
export function findCredential({ store }: ContextBase, hash: Uint8Array, name: string): KeyRow | undefined {
  return credentials(store, name, () => keyOfHash(store, hash));
}

/** The token that is the access key of an S3 client; undefined when there is none. */
export function findAccessKey({ store }: ContextBase, id: string): KeyRow | undefined {
  const octets = parseId(id);
  const row = octets && findKeyById(store, octets);
  return row?.kind === 'token' && row.revoked_at === null ? row : undefined;
}

/** Checks a token whose secret the sender has proved to know. */
export async function authenticateAccessKey(base: ContextBase, row: KeyRow, address: string): Promise<Authentication> {
  return admitRow(base, row, address);
}

/** The same at once; undefined when its use is to be noted first, and when it is refused, which is noted, too. */
export function authenticateAtOnce(base: ContextBase, row: KeyRow, address: string): Authentication | undefined {
  return isTouchDue(base, row) ? undefined : findAdmitted(base, row, address);
}

/**
 * Whether a credential may still do what it might in a state of the database (`committedState`), because nobody has committed since then.
 * To be asked inside a write that changes neither credentials nor people; false when that is not known.
 */
export function isUnchangedSince(base: ContextBase, state: number | undefined, key: KeyItem): boolean {
  return base.store.committedState() === state && isTimely(base, key);
}

/** Whether a credential has begun to be valid, and has not expired. */
function isTimely({ clock }: Pick<ContextBase, 'clock'>, { expiresAt, notBefore }: KeyItem): boolean {
  const now = clock.nowMs() * 1000;
  return (expiresAt === null || expiresAt > now) && (notBefore === null || notBefore <= now);
}

/**
 * The same for a request that is under way: what its token may do now. Unknown if the token has gone or has another secret.
 */
export function authenticateAgain(base: ContextBase, { seq, hash }: KeyRow, address: string): Authentication {
  const row = findKey(base.store, seq);
  const user = row && findUser(base.store, row.user);
  return row && user && timingSafeEqual(row.hash, hash) ? judge(base, row, user, address) : UNKNOWN;
}

/**
 * The actor of a running request with the permissions it has now; undefined if it lost access. `sessionId`: of a browser. `hash`: of the
 * secret that came with the request, which may have been replaced since.
 */
export function actorNow(
  base: ContextBase,
  { keyId, userId }: Actor,
  address: string,
  sessionId: string | undefined,
  hash: Uint8Array | undefined,
): Actor | undefined {
  if (sessionId !== undefined && !isSessionOpen(base, sessionId)) return undefined;
  if (keyId === undefined) {
    const id = parseId(userId);
    const user = id && findUserById(base.store, id);
    return user?.suspended === 0 ? actorOfPerson(base.store, user) : undefined;
  }
  const known = holders(base.store, keyId, () => {
    const id = parseId(keyId);
    const row = id && findKeyById(base.store, id);
    const user = row && findUser(base.store, row.user);
    return user && { row, user };
  });
  if (!known || (hash && !timingSafeEqual(known.row.hash, hash))) return undefined;
  const found = judge(base, known.row, known.user, address);
  return found.ok ? found.actor : undefined;
}

/** Whether a session has neither ended nor lost its credential to a new secret. */
function isSessionOpen({ store, clock }: ContextBase, sessionId: string): boolean {
  const id = parseId(sessionId);
  const session = id && findSessionById(store, id);
  if (!session || isSessionOver(session, clock.nowUs())) return false;
  return session.credential === null || credentialOf(store, session) !== undefined;
}

async function admit(base: ContextBase, row: KeyRow, user: UserRow, address: string): Promise<Authentication> {
  const found = judge(base, row, user, address);
  if (found.ok) await touch(base, row);
  return found;
}

type Admitted = Authentication & { readonly ok: true };

const admitted = keptPerState<{ readonly found: Admitted; readonly user: UserRow }>(1000);
/** Hundreds of answers that are on their way ask for one credential every half second. */
const holders = keptPerState<{ readonly row: KeyRow; readonly user: UserRow }>(1000);

function judge(base: ContextBase, row: KeyRow, user: UserRow, address: string): Authentication {
  const found = findAdmitted(base, row, address);
  if (found) return found;
  // It may have changed since it was read.
  const now = findKey(base.store, row.seq);
  return now && timingSafeEqual(now.hash, row.hash) ? judgeAnew(base, now, user, address) : UNKNOWN;
}

/**
 * What a credential may do that is not refused. What was found while nobody has committed is still so, but for the times of the
 * credential.
 */
function findAdmitted(base: ContextBase, row: KeyRow, address: string): Admitted | undefined {
  const kept = admitted(base.store, `${row.seq} ${address}`, () => {
    const now = findKey(base.store, row.seq);
    const user = now && findUser(base.store, now.user);
    if (!now || !user || !timingSafeEqual(now.hash, row.hash)) return undefined;
    const key = keyItem(base, now);
    return isActive(base, user, key, address) ? { found: actorOf(base, now, key, user), user } : undefined;
  });
  return kept && isActive(base, kept.user, kept.found.key, address) ? kept.found : undefined;
}

function isActive(base: ContextBase, user: UserRow, key: KeyItem, address: string): boolean {
  const isOver = key.expiresAt !== null && key.expiresAt <= base.clock.nowMs() * 1000;
  return !isOver && refusalOf(base, user, key, address) === undefined;
}

function judgeAnew(base: ContextBase, row: KeyRow, user: UserRow, address: string): Authentication {
  const key = keyItem(base, row);
  const reason = refusalOf(base, user, key, address);
  if (reason !== undefined) {
    const { id: keyId, name: keyName } = key;
    const actor = { userId: toHex(user.id), email: user.email, kind: row.kind, keyId, keyName };
    noteRefusedSignIn(base, { reason, address, known: { actor, account: row.account ?? undefined } });
    return { ok: false, reason };
  }
  return actorOf(base, row, key, user);
}

function actorOf(base: ContextBase, { hash }: KeyRow, key: KeyItem, user: UserRow): Admitted {
  const superAdministrator = user.super_administrator === 1;
  const limited = key.accountId !== null || key.zoneIds !== null || key.policies !== null;
  const common = {
    userId: toHex(user.id),
    email: user.email,
    kind: key.kind,
    superAdministrator: superAdministrator && !limited,
    keyId: key.id,
    keyName: key.name,
  };
  const rights = rightsOf(base.store, user, key);
  const policies = policiesOf(key);
  if (!policies) return { ok: true, key, hash, actor: { ...common, ...rights, readOnly: key.readOnly } };
  const scope = scopeOf(base.store, policies, rights.accountIds);
  return { ok: true, key, hash, actor: { ...common, ...rights, ...scope, readOnly: key.readOnly || scope.readOnly } };
}

function refusalOf(
  { clock }: Pick<ContextBase, 'clock'>,
  { suspended }: Pick<UserRow, 'suspended'>,
  key: KeyItem,
  address: string,
): 'expired' | 'disabled' | 'location' | undefined {
  // An account-owned credential belongs to its account, whatever becomes of the user who created it.
  if (suspended === 1 && !key.accountOwned) return 'disabled';
  if (key.status !== 'active') return key.status;
  if (key.notBefore !== null && key.notBefore > clock.nowUs()) return 'disabled';
  return key.networks && !isWithin(key.networks, address) ? 'location' : undefined;
}

/**
 * The policies of a credential, wherever it was made; undefined: it has all permissions of its user. One for certain zones has
 * nothing of their accounts.
 */
function policiesOf({ policies, zoneIds, readOnly }: KeyItem): readonly Policy[] | undefined {
  return policies ?? (zoneIds === null ? undefined : policiesForZones(zoneIds, readOnly));
}

/**
 * Accounts of a credential, the default one first, and what its user may do there now; its policies may restrict them further.
 */
function rightsOf(store: Store, user: UserRow, key: KeyItem): Rights {
  // An account-owned credential stays valid when the user who created it leaves.
  if (key.accountOwned) return { accountIds: key.accountId === null ? [] : [key.accountId] };
  const rights = rightsOfPerson(store, user);
  const { accountIds } = rights;
  if (user.super_administrator === 0) {
    return key.accountId === null ? rights : { ...rights, accountIds: accountIds.filter((id) => id === key.accountId) };
  }
  if (key.accountId !== null) return { accountIds: [key.accountId] };
  if (key.policies === null && key.zoneIds === null) return { accountIds };
  // A super administrator's token may name any account.
  const others = allAccounts(store).map(({ id }) => toHex(id));
  return { accountIds: [...new Set([...accountIds, ...others])] };
}

function isTouchDue({ clock }: ContextBase, { last_used_at: last }: KeyRow): boolean {
  return last === null || clock.nowMs() * 1000 - last >= TOUCH_EVERY_US;
}

/** Records the use at intervals. */
async function touch(base: ContextBase, row: KeyRow): Promise<void> {
  if (!isTouchDue(base, row)) return;
  const now = base.clock.nowMs() * 1000;
  await noteUse(base, `credential ${row.seq}`, () => setKeyLastUsed(base.store, row.seq, now));
}

async function touchSession(base: ContextBase, session: SessionRow): Promise<void> {
  const now = base.clock.nowMs() * 1000;
  if (now - session.last_used_at < TOUCH_EVERY_US) return;
  await noteUse(base, `session ${session.seq}`, () => setSessionLastUsed(base.store, session.seq, now));
}

/** What is being noted. */
const notesUnderWay = perStore(() => new Set<string>());

/** Does not wait for another writer, and not for long at all; where it fails, the next use will be recorded. */
async function noteUse({ store, clock, log }: ContextBase, what: string, note: () => void): Promise<void> {
  const underWay = notesUnderWay(store);
  if (store.readonly || underWay.has(what)) return;
  underWay.add(what);
  const noted = store
    .write(note, TOUCH_TIMEOUT_MS)
    .catch((err: unknown) => {
      if (!(err instanceof StoreBusy || err instanceof StoreFull)) log.error({ err }, 'a use could not be noted');
    })
    .finally(() => underWay.delete(what));
  await withLimit(clock, TOUCH_WAIT_MS, noted);
}
