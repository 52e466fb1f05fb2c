/** The second step of a sign-in, and signing in with a passkey alone. */
import { hashSecret, makeSecret } from '../control/access/keys.js';
import { commit } from '../control/kernel/commit.js';
import {
  type ChallengeRow,
  countAttempt,
  findChallenge,
  forgetProofs,
  removeChallenge,
} from '../store/access/challenges.js';
import { findUser } from '../store/access/users.js';
import { addSession, type BegunSession, CHALLENGE_US, contextOfPerson, requireActive } from './begin.js';
import { signInFailure } from './failures.js';
import { askForPasskey, ClonedPasskey, checkPasskey, type PasskeyAnswer, type PasskeyQuestion } from './passkeys.js';
import { type FactorInput, requireMethod, tellOfClone, withFactor } from './prove.js';
import type { SignInServices, Visitor } from './services.js';

const MOST_ATTEMPTS = 5;

/** Throws 401 for one that is over. */
function requireChallenge({ base: { store, clock } }: SignInServices, challenge: string): ChallengeRow {
  const row = findChallenge(store, hashSecret(store, challenge));
  const leftUs = (row?.expires_at ?? 0) - clock.nowUs();
  if (!row || leftUs <= 0 || leftUs > CHALLENGE_US || row.attempts >= MOST_ATTEMPTS) throw signInFailure('expired');
  return row;
}

/** Completes a sign-in. Throws 401 when it has expired or failed too often, 403 for a wrong factor. */
export async function completeSignIn(
  services: SignInServices,
  visitor: Visitor,
  challenge: string,
  input: FactorInput,
): Promise<BegunSession> {
  const { base } = services;
  const { store } = base;
  const row = requireChallenge(services, challenge);
  const ctx = contextOfPerson(services, visitor, row.user);
  // Before the factor is checked: attempts at once count, too.
  await commit(ctx, () => {
    requireChallenge(services, challenge);
    countAttempt(store, row.hash);
  });
  const user = findUser(store, row.user)!;
  requireMethod(services, user, input);
  const secret = makeSecret(base);
  return withFactor(services, visitor, user, input, (draft, how) => {
    // It was counted above; here it only must still be there.
    if (!findChallenge(store, row.hash)) throw signInFailure('expired');
    removeChallenge(store, row.hash);
    const { provider, provider_subject, provider_session } = row;
    const proof = { how: `${row.how} ${how}`, provider, provider_subject, provider_session, secret };
    return addSession(ctx, draft, requireActive(store, user.seq), visitor, proof);
  });
}

/** What the browser is asked for the second step. */
export function askForSecondPasskey(
  services: SignInServices,
  visitor: Visitor,
  challenge: string,
): Promise<PasskeyQuestion> {
  const { user } = requireChallenge(services, challenge);
  return askForPasskey(services, visitor, findUser(services.base.store, user)!);
}

/** A passkey that has verified the person stands for both factors. */
export async function signInWithPasskey(
  services: SignInServices,
  visitor: Visitor,
  answer: PasskeyAnswer,
): Promise<BegunSession> {
  const { store } = services.base;
  const { passkey, use } = await checkPasskey(services, visitor, answer);
  const user = findUser(store, passkey.user)!;
  const ctx = contextOfPerson(services, visitor, user.seq);
  const secret = makeSecret(services.base);
  try {
    const { value } = await commit(ctx, (draft) => {
      forgetProofs(store, draft.now);
      use(draft);
      return addSession(ctx, draft, requireActive(store, user.seq), visitor, { how: 'passkey', secret });
    });
    return value;
  } catch (error) {
    throw error instanceof ClonedPasskey ? await tellOfClone(services, visitor, user, error) : error;
  }
}
