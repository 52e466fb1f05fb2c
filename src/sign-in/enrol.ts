/** Second factors are added and removed. Each change ends the other sessions of the person, and renews the own one. */
import { makeSecret } from '../control/access/keys.js';
import { renewSession } from '../control/access/sessions.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import { requiresTwoFactor } from '../store/access/accounts.js';
import { removeChallengesOfUser } from '../store/access/challenges.js';
import {
  confirmTotp,
  countRecoveryCodes,
  findPasskey,
  findTotp,
  hasSecondFactor,
  insertPasskey,
  type PasskeyRow,
  passkeysOfUser,
  putTotp,
  removePasskey,
  removeTotp,
  renamePasskey,
} from '../store/access/factors.js';
import { findPassword } from '../store/access/passwords.js';
import { removeSessionsOfUser } from '../store/access/sessions.js';
import type { UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';
import { TOTP_SECRETS } from '../store/sealed-columns.js';
import { type BegunSession, contextOfPerson } from './begin.js';
import { signInFailure } from './failures.js';
import { networkOf } from './limits.js';
import { askForNewPasskey, checkNewPasskey, type NewPasskeyAnswer, type NewPasskeyQuestion } from './passkeys.js';
import { requirePerson } from './password.js';
import { makeRecoveryCodes, replaceRecoveryCodes } from './recovery.js';
import type { SignInServices, Visitor } from './services.js';
import { checkTotp, makeTotpSecret } from './totp.js';

const MOST_PASSKEYS = 20;
const LONGEST_NAME = 60;

export interface Factors {
  readonly password: boolean;
  readonly totp: boolean;
  readonly passkeys: readonly PasskeyItem[];
  readonly recoveryCodes: number;
}

export interface PasskeyItem {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

export function listFactors({ base: { store } }: SignInServices, sessionId: string | undefined): Factors {
  const { user } = requirePerson(store, sessionId);
  return {
    password: findPassword(store, user.seq) !== undefined,
    totp: findTotp(store, user.seq)?.confirmed === 1,
    passkeys: passkeysOfUser(store, user.seq).map(passkeyItem),
    recoveryCodes: countRecoveryCodes(store, user.seq),
  };
}

function passkeyItem({ id, name, created_at, last_used_at }: PasskeyRow): PasskeyItem {
  return { id: Buffer.from(id).toString('base64url'), name, createdAt: created_at, lastUsedAt: last_used_at };
}

type Changed<T> = BegunSession & { readonly value: T };

/** Runs `work` in a write that ends the other sessions. `how`: what was proved with it. */
async function change<T>(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  work: (draft: Draft, user: UserRow) => T,
  how?: string,
): Promise<Changed<T>> {
  const { store } = services.base;
  const { user } = requirePerson(store, sessionId);
  const ctx = contextOfPerson(services, visitor, user.seq);
  const secret = makeSecret(services.base);
  const { value } = await commit(ctx, (draft) => {
    const { session } = requirePerson(store, sessionId);
    const done = work(draft, user);
    removeSessionsOfUser(store, user.seq, session.seq);
    removeChallengesOfUser(store, user.seq);
    const all = [...new Set([...session.how.split(' '), ...(how === undefined ? [] : [how])])].join(' ');
    return { session: renewSession(ctx, draft, session, secret, all), value: done };
  });
  return { ...value, secret };
}

/** A secret for a device, which counts once a code of it was seen. Replaces one that has not been confirmed. */
export async function startTotp(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const { store } = services.base;
  const { user } = requirePerson(store, sessionId);
  const { octets, text, uri } = makeTotpSecret(services, user);
  await commit(contextOfPerson(services, visitor, user.seq), (draft) => {
    if (findTotp(store, user.seq)?.confirmed === 1) {
      throw signInFailure('badInput', { reason: 'There is a device already. Remove it first.' });
    }
    const secret = services.vault.seal(TOTP_SECRETS, user.seq, octets);
    putTotp(store, { user: user.seq, secret, confirmed: 0, created_at: draft.now });
  });
  return { secret: text, uri };
}

export async function finishTotp(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  code: string,
): Promise<BegunSession> {
  const { base, limits } = services;
  const { user } = requirePerson(base.store, sessionId);
  const attempt = limits.begin(`confirm totp ${user.seq}`, networkOf(visitor.address));
  const use = checkTotp(services, user, code, false);
  const work = (draft: Draft): void => {
    if (findTotp(base.store, user.seq)?.confirmed !== 0) throw signInFailure('noFactor');
    use(draft);
    confirmTotp(base.store, user.seq);
    draft.event({ kind: 'totp.create', id: user.id, name: user.email });
  };
  const changed = await change(services, visitor, sessionId, work, 'totp');
  attempt.succeeded();
  return changed;
}

export function endTotp(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
): Promise<BegunSession> {
  const { store } = services.base;
  return change(services, visitor, sessionId, (draft, user) => {
    if (!removeTotp(store, user.seq)) throw signInFailure('noFactor');
    requireEnough(store, user);
    draft.event({ kind: 'totp.delete', id: user.id, name: user.email });
  });
}

/** Throws 400 when the last second factor goes although an account requires one. */
function requireEnough(store: Store, { seq }: UserRow): void {
  if (hasSecondFactor(store, seq) || !requiresTwoFactor(store, seq)) return;
  const reason = 'An account requires a second factor. Add another one first.';
  throw signInFailure('badInput', { reason });
}

export function startPasskey(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
): Promise<NewPasskeyQuestion> {
  return askForNewPasskey(services, visitor, requirePerson(services.base.store, sessionId).user);
}

export async function addPasskey(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  { name: text, answer }: { readonly name: string; readonly answer: NewPasskeyAnswer },
): Promise<Changed<PasskeyItem>> {
  const { store } = services.base;
  const { user } = requirePerson(store, sessionId);
  const name = readName(text);
  const { use, ...made } = await checkNewPasskey(services, visitor, user, answer);
  return change(
    services,
    visitor,
    sessionId,
    (draft) => {
      use(draft);
      if (passkeysOfUser(store, user.seq).length >= MOST_PASSKEYS || findPasskey(store, made.id)) {
        const reason = `This passkey is known already, or there are ${MOST_PASSKEYS}.`;
        throw signInFailure('badInput', { reason });
      }
      insertPasskey(store, { ...made, user: user.seq, name, created_at: draft.now, last_used_at: null });
      draft.event({ kind: 'passkey.create', id: user.id, name, after: { name } });
      return passkeyItem(findPasskey(store, made.id)!);
    },
    'passkey',
  );
}

function readName(text: string): string {
  const name = text.trim();
  if (name !== '' && name.length <= LONGEST_NAME) return name;
  throw signInFailure('badInput', { reason: `A passkey’s name has 1 to ${LONGEST_NAME} characters.` });
}

function requirePasskey(store: Store, { seq }: UserRow, id: string): PasskeyRow {
  const row = findPasskey(store, Buffer.from(id, 'base64url'));
  if (row?.user !== seq) throw signInFailure('noFactor');
  return row;
}

export async function editPasskey(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  id: string,
  text: string,
): Promise<PasskeyItem> {
  const { store } = services.base;
  const { user } = requirePerson(store, sessionId);
  const name = readName(text);
  const { value } = await commit(contextOfPerson(services, visitor, user.seq), (draft) => {
    const row = requirePasskey(store, user, id);
    renamePasskey(store, row.seq, name);
    draft.event({ kind: 'passkey.edit', id: user.id, name, before: { name: row.name }, after: { name } });
    return passkeyItem({ ...row, name });
  });
  return value;
}

export function deletePasskey(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
  id: string,
): Promise<Changed<string>> {
  const { store } = services.base;
  return change(services, visitor, sessionId, (draft, user) => {
    const row = requirePasskey(store, user, id);
    removePasskey(store, row.seq);
    requireEnough(store, user);
    draft.event({ kind: 'passkey.delete', id: user.id, name: row.name });
    return id;
  });
}

/** Ten new codes; only this call returns them. */
export function makeCodes(
  services: SignInServices,
  visitor: Visitor,
  sessionId: string | undefined,
): Promise<Changed<readonly string[]>> {
  const { base } = services;
  const codes = makeRecoveryCodes(base);
  return change(services, visitor, sessionId, (draft, user) => {
    replaceRecoveryCodes(base.store, user, codes);
    draft.event({ kind: 'recovery_codes.create', id: user.id, name: user.email });
    return codes;
  });
}
