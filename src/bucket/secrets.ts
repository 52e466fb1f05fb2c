/** Use cases of the bucket application's secrets. A value is stored as a hash and never shown again. */

import { accountFailure } from '../control/guard/account-failures.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { authKeySecretSetAt, deleteAuthKeySecret, putAuthKeySecret } from '../store/objects/auth-key-secret.js';

/** The secret that write requests to the bucket application must contain. */
export const AUTH_KEY_SECRET = 'AUTH_KEY_SECRET';

export interface SecretItem {
  readonly name: string;
  /** Microseconds since 1970. */
  readonly setAt: number;
}

const LONGEST = 4096;
/** Values that an HTTP header can carry unchanged (RFC 9110 §5.5): visible ASCII, blanks only inside. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Sets a secret, replacing the previous one. Only for super administrators. */
export async function putSecret(ctx: Context, name: string, value: string): Promise<void> {
  requireKnown(ctx, name);
  if (value === '') throw refusal('The secret is empty: it would match nothing. Use `secret delete` to remove it.');
  if (value.length > LONGEST) throw refusal(`The secret is longer than ${LONGEST} characters.`);
  if (!HEADER_VALUE.test(value)) {
    throw refusal('The secret must be visible ASCII, without blanks at its ends, so that an HTTP header can carry it.');
  }
  await commit(ctx, (draft) => {
    putAuthKeySecret(ctx.store, value, draft.now);
    draft.event({ kind: 'secret.put', name });
  });
}

/** Only for super administrators. */
export async function listSecrets(ctx: Context): Promise<SecretItem[]> {
  requireOperator(ctx);
  const setAt = authKeySecretSetAt(ctx.store);
  return setAt === undefined ? [] : [{ name: AUTH_KEY_SECRET, setAt }];
}

/** Throws when it is not set. Only for super administrators. */
export async function deleteSecret(ctx: Context, name: string): Promise<void> {
  requireKnown(ctx, name);
  await commit(ctx, (draft) => {
    if (authKeySecretSetAt(ctx.store) === undefined) throw refusal(`${name} is not set.`);
    deleteAuthKeySecret(ctx.store);
    draft.event({ kind: 'secret.delete', name });
  });
}

function requireKnown(ctx: Context, name: string): void {
  requireOperator(ctx);
  if (name === AUTH_KEY_SECRET) return;
  throw refusal(`The application has no secret ${name.slice(0, 64)}; its secret is ${AUTH_KEY_SECRET}.`);
}

function requireOperator({ actor }: Context): void {
  if (!actor.superAdministrator) throw accountFailure('notAllowed');
}

const refusal = (reason: string) => accountFailure('badInput', { reason });
