/** After the first factor: a session, or the question for the second one. */
import { actorOfPerson } from '../control/access/authentication.js';
import type { SessionItem } from '../control/access/item.js';
import { hashSecret, makeSecret } from '../control/access/keys.js';
import { addPersonSession, type Proof } from '../control/access/sessions.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import {
  challengesOfUser,
  forgetProofs,
  insertChallenge,
  removeChallenge,
  removeChallengesOver,
} from '../store/access/challenges.js';
import { countRecoveryCodes, findTotp, hasSecondFactor, passkeysOfUser } from '../store/access/factors.js';
import { findUser, type UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';
import { signInFailure } from './failures.js';
import { contextFor, type SignInServices, type Visitor } from './services.js';

export type Method = 'password' | 'totp' | 'passkey' | 'recovery';

export interface BegunSession {
  readonly session: SessionItem;
  /** Of the cookie. */
  readonly secret: string;
}

export type Begun = BegunSession | { readonly challenge: string; readonly methods: readonly Method[] };

/** A challenge waits for its second factor so long, in microseconds: five minutes. */
export const CHALLENGE_US = 300_000_000;
/** Challenges of one user at once; the oldest ends when there are more. */
const MOST_CHALLENGES = 10;

/** Second factors that a user has. */
export function methodsOf(store: Store, user: number): Method[] {
  return [
    ...(findTotp(store, user)?.confirmed === 1 ? (['totp'] as const) : []),
    ...(passkeysOfUser(store, user).length > 0 ? (['passkey'] as const) : []),
    ...(countRecoveryCodes(store, user) > 0 ? (['recovery'] as const) : []),
  ];
}

/** What was proved with a second factor, or with one that stands for two. */
const STRONG = ['totp', 'passkey', 'recovery', 'mfa'];

export function isStrong(how: readonly string[]): boolean {
  return how.some((word) => STRONG.includes(word));
}

/** The first factor of a user was right: a session if it suffices, a challenge if the user has a second one. */
export async function begin(
  services: SignInServices,
  visitor: Visitor,
  { seq }: UserRow,
  proof: Proof,
): Promise<Begun> {
  const { store } = services.base;
  const secret = makeSecret(services.base);
  const ctx = contextOfPerson(services, visitor, seq);
  const { value } = await commit(ctx, (draft): Begun => {
    const user = requireActive(store, seq);
    removeChallengesOver(store, draft.now);
    forgetProofs(store, draft.now);
    if (isStrong(proof.how.split(' ')) || !hasSecondFactor(store, seq)) {
      return { session: addPersonSession(ctx, draft, user, { ...proof, secret, ...visitorOf(visitor) }), secret };
    }
    const others = challengesOfUser(store, seq);
    for (const { hash } of others.slice(0, Math.max(0, others.length + 1 - MOST_CHALLENGES))) {
      removeChallenge(store, hash);
    }
    insertChallenge(store, {
      ...{ hash: hashSecret(store, secret), user: seq, attempts: 0, expires_at: draft.now + CHALLENGE_US },
      ...{ provider: null, provider_subject: null, provider_session: null, ...proof },
    });
    return { challenge: secret, methods: methodsOf(store, seq) };
  });
  return value;
}

/** A session at once, inside a write that uses up what was proved. */
export function addSession(
  ctx: Context,
  draft: Draft,
  user: UserRow,
  visitor: Visitor,
  proof: Proof & { readonly secret: string },
): BegunSession {
  return { session: addPersonSession(ctx, draft, user, { ...proof, ...visitorOf(visitor) }), secret: proof.secret };
}

const visitorOf = ({ userAgent }: Visitor): { readonly userAgent: string } => ({ userAgent });

export function contextOfPerson(services: SignInServices, visitor: Visitor, user: number): Context {
  const { store } = services.base;
  // Everybody may change what they sign in with, whatever their roles are.
  return contextFor(services, visitor, { ...actorOfPerson(store, findUser(store, user)!), readOnly: false });
}

/** The user as it is now. Throws as for a wrong password when it is suspended by now. */
export function requireActive(store: Store, seq: number): UserRow {
  const user = findUser(store, seq);
  if (!user || user.suspended === 1) throw signInFailure('wrong');
  return user;
}
