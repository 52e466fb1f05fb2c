/** Links for one user: to choose a password, and to sign in. They are sent by mail, or handed on by the operator. */
import { toHex } from '../base/bytes.js';
import { hashSecret, makeSecret } from '../control/access/keys.js';
import { accountFailure } from '../control/guard/account-failures.js';
import { OPERATOR } from '../control/guard/actor.js';
import { commit } from '../control/kernel/commit.js';
import type { Context, ContextBase } from '../control/kernel/context.js';
import {
  findUserLink,
  insertUserLink,
  linksOfUser,
  removeUserLink,
  removeUserLinksOver,
  type UserLinkKind,
  type UserLinkRow,
} from '../store/access/passwords.js';
import { findUser, findUserByEmail, type UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';
import { addSession, type BegunSession, contextOfPerson } from './begin.js';
import { signInFailure } from './failures.js';
import { networkOf } from './limits.js';
import { readEmail, requirePasswords, storePassword } from './password.js';
import { choosePassword } from './password-rules.js';
import { contextFor, type SignInServices, type Visitor } from './services.js';
import { isUnclaimed } from './unclaimed.js';

/** How long links work, in minutes. */
export const LINK_LIFE: Readonly<Record<UserLinkKind, number>> = { 'sign-in': 15, password: 60 };
/** Links of one user and kind at once; the oldest ends when there are more. */
const MOST_LINKS = 5;
/** First links, which several accounts may make. Other links are counted apart from them: whoever asks for a new password ends no invitation. */
const MOST_FIRST_LINKS = 50;
/** A link for the first password works as long as its invitation: seven days, in minutes. */
const INVITATION_LIFE = 7 * 24 * 60;

/** The user of an e-mail address. Throws 404 when there is none, 400 for a suspended one. */
export function requireUser({ store }: Pick<ContextBase, 'store'>, email: string): UserRow {
  const user = findUserByEmail(store, readEmail(email));
  if (!user) throw signInFailure('unknownUser', { email: email.slice(0, 80) });
  if (user.suspended === 1) throw signInFailure('suspended', { email: user.email });
  return user;
}

/** A link with which an invited user chooses the first password. It ends once somebody claims the user another way. */
export function createFirstLink(ctx: Context, user: UserRow): Promise<string> {
  return addLink(ctx, user, 'password', { minutes: INVITATION_LIFE, hash: hashOfFirst, most: MOST_FIRST_LINKS });
}

/** Distinguishes these links from others: they are hashed twice, so a secret of one kind never matches the other. */
function hashOfFirst(store: Store, secret: string): Uint8Array {
  return hashSecret(store, toHex(hashSecret(store, secret)));
}

/** Makes a link for a user; only for the operator of the machine. Returns its secret. */
export async function createUserLink(ctx: Context, email: string, kind: UserLinkKind): Promise<string> {
  if (ctx.actor.kind !== 'operator') throw accountFailure('notAllowed');
  return addLink(ctx, requireUser(ctx, email), kind);
}

async function addLink(
  ctx: Context,
  { seq, id, email }: UserRow,
  kind: UserLinkKind,
  { minutes, hash, most } = { minutes: LINK_LIFE[kind], hash: hashSecret, most: MOST_LINKS },
): Promise<string> {
  const { store } = ctx;
  const secret = makeSecret(ctx);
  await commit(ctx, (draft) => {
    removeUserLinksOver(store, draft.now);
    const ofReset = draft.now + LINK_LIFE[kind] * 60_000_000;
    const expires = draft.now + minutes * 60_000_000;
    const others = linksOfUser(store, seq, kind).filter((one) => one.expires_at > ofReset === expires > ofReset);
    for (const old of others.slice(0, Math.max(0, others.length + 1 - most))) removeUserLink(store, old.hash);
    insertUserLink(store, { hash: hash(store, secret), user: seq, kind, expires_at: expires });
    draft.event({ kind: 'user_link.create', id, name: email, after: { for: kind } });
  });
  return secret;
}

/** Where a browser takes a link. Behind the `#`, which browsers do not send, so that no log of a server or proxy has the secret. */
export function userLinkAt(url: string, kind: UserLinkKind, secret: string): string {
  return `${url}/sign-in#${kind === 'password' ? 'password' : 'person'}=${secret}`;
}

/** Throws 403 if the link was used, has expired, was made while the clock was ahead, or is a first link of a claimed user. */
function requireLink({ base: { store, clock } }: SignInServices, secret: string, kind: UserLinkKind): UserLinkRow {
  const first = findUserLink(store, hashOfFirst(store, secret));
  const link = first ?? findUserLink(store, hashSecret(store, secret));
  const longest = first ? INVITATION_LIFE : LINK_LIFE[kind];
  const leftUs = (link?.expires_at ?? 0) - clock.nowUs();
  if (!link || link.kind !== kind || leftUs <= 0 || leftUs > longest * 60_000_000) {
    throw signInFailure('unknownLink');
  }
  if (first && !isUnclaimed(store, findUser(store, first.user)!)) throw signInFailure('unknownLink');
  return link;
}

/** The link that the operator has handed on suffices: it is the way back in when nothing else works. */
export async function signInWithLink(services: SignInServices, visitor: Visitor, link: string): Promise<BegunSession> {
  const attempt = services.limits.begin(`link ${networkOf(visitor.address)}`, networkOf(visitor.address));
  const { user: seq, hash } = requireLink(services, link, 'sign-in');
  attempt.succeeded();
  const { store } = services.base;
  const secret = makeSecret(services.base);
  const ctx = contextOfPerson(services, visitor, seq);
  const { value } = await commit(ctx, (draft) => {
    const user = findUser(store, seq);
    if (!user || user.suspended === 1 || !removeUserLink(store, hash)) throw signInFailure('unknownLink');
    return addSession(ctx, draft, user, visitor, { how: 'link', secret });
  });
  return value;
}

/** Chooses a password with a link. It begins no session: a second factor is still asked for at the sign-in. */
export async function resetPassword(
  services: SignInServices,
  visitor: Visitor,
  link: string,
  password: string,
): Promise<{ readonly email: string }> {
  requirePasswords(services);
  const { base, hashes, limits } = services;
  const { store } = base;
  const network = networkOf(visitor.address);
  const attempt = limits.begin(`link ${network}`, network);
  const { user: seq } = requireLink(services, link, 'password');
  attempt.succeeded();
  const { email } = findUser(store, seq)!;
  const hash = await hashes.make(choosePassword(password, email), network);
  const ctx = contextOfPerson(services, visitor, seq);
  await commit(ctx, (draft) => {
    const user = findUser(store, seq);
    const { hash: used } = requireLink(services, link, 'password');
    if (!user || user.suspended === 1 || !removeUserLink(store, used)) throw signInFailure('unknownLink');
    storePassword(ctx, draft, user, hash);
  });
  return { email };
}

/** Requests a link by mail. The work happens after the answer, which is the same for every address. */
export function requestReset(services: SignInServices, visitor: Visitor, email: string): void {
  const { base, settings, sendMail, resetLetters } = services;
  const network = networkOf(visitor.address);
  resetLetters.later(network, async () => {
    const { publicUrl } = settings;
    if (!sendMail || publicUrl === undefined || !settings.passwords) return;
    const user = findUserByEmail(base.store, readEmail(email));
    if (!user || user.suspended === 1) return;
    if (!resetLetters.count(user.email.toLowerCase(), network)) return;
    const secret = await addLink(contextOfService(services, visitor), user, 'password');
    const text = textOf(userLinkAt(publicUrl, 'password', secret), publicUrl);
    // Anybody may ask, from any number of networks: together they are one source of messages.
    await sendMail({ to: user.email, subject: 'Choose a new password', text, turn: ['', network] });
  });
}

/** The server itself does what a message needs, whoever requested it. */
export function contextOfService(services: SignInServices, visitor: Visitor): Context {
  return { ...contextFor(services, visitor, OPERATOR), source: 'service' };
}

function textOf(link: string, url: string): string {
  return [
    `Somebody, probably you, asked for a new password at ${url}.`,
    `Choose it here, within ${LINK_LIFE.password} minutes:`,
    link,
    'If it was not you, ignore this message: your password stays as it is.',
    '',
  ].join('\n\n');
}
