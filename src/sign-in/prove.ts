/** The one place where a person proves something: with a password or with a second factor. */
import { commit, type Draft } from '../control/kernel/commit.js';
import type { UserRow } from '../store/access/users.js';
import { contextOfPerson, type Method, methodsOf } from './begin.js';
import { signInFailure } from './failures.js';
import { networkOf } from './limits.js';
import { ClonedPasskey, checkPasskey, type PasskeyAnswer } from './passkeys.js';
import { checkPassword, noteWrong, requirePasswords } from './password.js';
import { checkRecoveryCode } from './recovery.js';
import type { SignInServices, Visitor } from './services.js';
import { checkTotp, type UseCode } from './totp.js';

/** One of these. */
export interface FactorInput {
  readonly password?: string | undefined;
  readonly totp?: string | undefined;
  readonly recovery?: string | undefined;
  readonly passkey?: PasskeyAnswer | undefined;
}

/**
 * Checks a factor of a user, and runs `work` in the write that uses it up. Throws 403 for a wrong one, 429 when it was wrong too often,
 * 400 unless there is exactly one.
 */
export async function withFactor<T>(
  services: SignInServices,
  visitor: Visitor,
  user: UserRow,
  input: FactorInput,
  work: (draft: Draft, how: Method) => T,
): Promise<T> {
  const given = (['password', 'totp', 'recovery', 'passkey'] as const).filter((name) => input[name] !== undefined);
  const [how] = given;
  if (how === undefined || given.length > 1) {
    throw signInFailure('badInput', { reason: 'Exactly one factor is expected: password, totp, passkey or recovery.' });
  }
  const { base, limits } = services;
  // Nobody guesses passkeys, so the person with one does not wait for whoever guesses the rest.
  const attempt =
    how === 'passkey' ? undefined : limits.begin(`confirm ${how} ${user.seq}`, networkOf(visitor.address));
  try {
    const use = await check(services, visitor, user, input, how);
    const { value } = await commit(contextOfPerson(services, visitor, user.seq), (draft) => {
      use(draft);
      return work(draft, how);
    });
    attempt?.succeeded();
    return value;
  } catch (error) {
    if (error instanceof ClonedPasskey) throw await tellOfClone(services, visitor, user, error);
    const { status } = error as { readonly status?: number };
    if (status === 403) noteWrong({ ...services, base }, visitor, how, user);
    throw error;
  }
}

async function check(
  services: SignInServices,
  visitor: Visitor,
  user: UserRow,
  { password, totp, recovery, passkey }: FactorInput,
  how: Method,
): Promise<UseCode> {
  const { store } = services.base;
  if (how === 'password') {
    requirePasswords(services);
    if (!(await checkPassword(services, visitor, user, password!))) {
      throw signInFailure('wrongPassword', {}, { pointer: '/password' });
    }
    return () => {};
  }
  if (how === 'totp') return checkTotp(services, user, totp!);
  if (how === 'recovery') return checkRecoveryCode(store, user, recovery!);
  return (await checkPasskey(services, visitor, passkey!, user)).use;
}

/** Leaves an event, and returns the refusal. */
export async function tellOfClone(
  services: SignInServices,
  visitor: Visitor,
  user: UserRow,
  { passkey }: ClonedPasskey,
): Promise<Error> {
  await commit(contextOfPerson(services, visitor, user.seq), (draft) =>
    draft.event({ kind: 'passkey.clone', id: user.id, name: passkey.name }),
  );
  const reason = 'it counts as if there were a copy of it; remove it and make another';
  return signInFailure('wrongPasskey', { reason });
}

/** Throws 401 for a factor that the user does not have, as for a sign-in that is over. */
export function requireMethod(services: SignInServices, { seq }: UserRow, input: FactorInput): void {
  const known = methodsOf(services.base.store, seq);
  if (input.password !== undefined || !known.some((name) => input[name] !== undefined))
    throw signInFailure('wrongCode');
}
