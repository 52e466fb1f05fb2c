/** Signing in with a password, and changing it. */
import { toHex } from '../base/bytes.js';
import { makeSecret } from '../control/access/keys.js';
import { noteRefusedSignIn } from '../control/access/refused-sign-ins.js';
import { addPersonSession, renewSession } from '../control/access/sessions.js';
import { parseId } from '../control/guard/access.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { removeChallengesOfUser } from '../store/access/challenges.js';
import { findPassword, putPassword, removeLinksOfUser } from '../store/access/passwords.js';
import { findSessionById, removeSessionsOfUser, type SessionRow } from '../store/access/sessions.js';
import { findUser, findUserByEmail, type UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';
import { type Begun, type BegunSession, begin, contextOfPerson } from './begin.js';
import { signInFailure } from './failures.js';
import { networkOf } from './limits.js';
import { choosePassword, readPassword } from './password-rules.js';
import type { SignInServices, Visitor } from './services.js';

export interface PasswordSignIn {
  readonly email: string;
  readonly password: string;
}

/**
 * The answer to a wrong password is the same whoever has the address, and takes as long. Throws 403, 429 when it was wrong too often,
 * 503 when too many passwords are being checked.
 */
export async function signInWithPassword(
  services: SignInServices,
  visitor: Visitor,
  { email, password }: PasswordSignIn,
): Promise<Begun> {
  requirePasswords(services);
  const { base, limits } = services;
  const address = readEmail(email);
  const attempt = limits.begin(`password ${address.toLowerCase()}`, networkOf(visitor.address));
  const user = findUserByEmail(base.store, address);
  const isRight = await checkPassword(services, visitor, user, password);
  if (!user || !isRight || findUser(base.store, user.seq)?.suspended !== 0) {
    noteWrong(services, visitor, 'password', user);
    throw signInFailure('wrong');
  }
  attempt.succeeded();
  await strengthenHash(services, visitor, user, password);
  return begin(services, visitor, user, { how: 'password' });
}

/** Replaces a weak hash while the password is known. If too many hashes are waiting, a later sign-in does it. */
async function strengthenHash(
  services: SignInServices,
  visitor: Visitor,
  { seq }: UserRow,
  password: string,
): Promise<void> {
  const { base, hashes } = services;
  const { store } = base;
  const before = findPassword(store, seq);
  if (before === undefined || !hashes.isWeak(before)) return;
  try {
    const after = await hashes.make(readPassword(password), networkOf(visitor.address));
    await commit(contextOfPerson(services, visitor, seq), (draft) => {
      if (findPassword(store, seq) === before) putPassword(store, seq, after, draft.now);
    });
  } catch (error) {
    base.log.warn({ err: error }, 'the hash of a password could not be made stronger');
  }
}

/** Addresses are compared in one form, without regard to case. */
export function readEmail(text: string): string {
  return text.trim().normalize('NFC');
}

export function requirePasswords({ settings }: SignInServices): void {
  if (!settings.passwords) throw signInFailure('passwordsOff');
}

/** Takes as long if the user has no password, or does not exist. */
export function checkPassword(
  { base, hashes }: SignInServices,
  { address }: Visitor,
  user: UserRow | undefined,
  password: string,
): Promise<boolean> {
  const hash = findPassword(base.store, user?.seq ?? 0);
  return hashes.check(readPassword(password), hash, networkOf(address));
}

/** In the audit log, not too often. */
export function noteWrong(
  { base }: SignInServices,
  { address }: Visitor,
  reason: string,
  user: UserRow | undefined,
): void {
  const actor = user && { userId: toHex(user.id), email: user.email, kind: 'session' as const, keyName: user.email };
  noteRefusedSignIn(base, { reason, address, ...(actor && { known: { actor, account: undefined } }) });
}

/** The session of a request, and its person. */
export interface OwnSession {
  readonly session: SessionRow;
  readonly user: UserRow;
}

/** The person's own session. Throws 403 for keys, tokens, and sessions that work with one. */
export function requirePerson(store: Store, sessionId: string | undefined): OwnSession {
  const found = findOwn(store, sessionId);
  if (!found || found.session.credential !== null) throw signInFailure('onlyPeople');
  return found;
}

export function findOwn(store: Store, sessionId: string | undefined): OwnSession | undefined {
  const id = sessionId === undefined ? undefined : parseId(sessionId);
  const session = id && findSessionById(store, id);
  const user = session && findUser(store, session.user);
  return session && user && { session, user };
}

/** A person has to prove again who they are after so long, in microseconds: ten minutes. */
const FRESH_US = 600_000_000;

/** Whether the person has proved not long ago who they are. A moment that lies in the future, as of a clock put back, does not count. */
export function isFresh({ proved_at: provedAt }: Pick<SessionRow, 'proved_at'>, nowUs: number): boolean {
  return provedAt <= nowUs && nowUs - provedAt < FRESH_US;
}

export interface PasswordChange {
  /** Needed if there is a password. */
  readonly current?: string | undefined;
  readonly new: string;
}

/**
 * Sets the password of the session's user, and ends all other sessions. Without the present password only if there is none, and the
 * session was begun with a link or the person has just proved who they are. Returns the session with a new secret.
 */
export async function changePassword(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  change: PasswordChange,
): Promise<BegunSession> {
  requirePasswords(services);
  const { base, hashes, limits } = services;
  const { store, clock } = base;
  const own = findOwn(store, sessionId);
  // A key that somebody found must not become a password that outlives it.
  if (!own || !mayChoose(own, clock.nowUs())) throw signInFailure('onlyPeople');
  const { user } = own;
  const isNew = findPassword(store, user.seq) === undefined;
  if (!isNew) {
    const attempt = limits.begin(`confirm ${user.seq}`, networkOf(visitor.address));
    if (!(await checkPassword(services, visitor, user, change.current ?? ''))) {
      noteWrong(services, visitor, 'password', user);
      throw signInFailure('wrongPassword', {}, { pointer: '/current' });
    }
    attempt.succeeded();
  }
  const hash = await hashes.make(choosePassword(change.new, user.email), networkOf(visitor.address));
  const secret = makeSecret(base);
  const ctx = contextOfPerson(services, visitor, user.seq);
  const { value } = await commit(ctx, (draft): BegunSession => {
    const { session } = requireOwn(store, own);
    if (isNew && findPassword(store, user.seq) !== undefined) throw signInFailure('wrongPassword');
    storePassword(ctx, draft, user, hash, session.credential === null ? session.seq : 0);
    const how = [...new Set([...session.how.split(' ').filter((word) => word !== 'credential'), 'password'])].join(' ');
    const { user_agent: userAgent } = session;
    if (session.credential !== null) {
      return { session: addPersonSession(ctx, draft, user, { how, secret, userAgent }), secret };
    }
    return { session: renewSession(ctx, draft, session, secret, how), secret };
  });
  return value;
}

/** Whether the session may choose the first password of its user. */
export function mayChoose({ session, user: { suspended } }: OwnSession, nowUs: number): boolean {
  if (suspended === 1) return false;
  return session.credential === null || (session.how.split(' ').includes('link') && isFresh(session, nowUs));
}

/** The same session as it is inside the write. Throws when it has ended meanwhile. */
function requireOwn(store: Store, { session: { id } }: OwnSession): OwnSession {
  const found = findOwn(store, toHex(id));
  if (!found) throw signInFailure('expired');
  return found;
}

/** Inside a commit. All sessions of the user end but that with the number `except`, and all links become invalid. */
export function storePassword(ctx: Context, draft: Draft, user: UserRow, hash: string, except = 0): void {
  const { store } = ctx;
  const isFirst = findPassword(store, user.seq) === undefined;
  putPassword(store, user.seq, hash, draft.now);
  const ended = removeSessionsOfUser(store, user.seq, except);
  removeLinksOfUser(store, user.seq);
  removeChallengesOfUser(store, user.seq);
  draft.event({ kind: 'password.set', id: user.id, name: user.email, after: { first: isFirst, sessionsEnded: ended } });
}
