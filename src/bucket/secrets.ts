/** Use cases of the bucket application's secrets. A value is stored hashed and never shown again. */

import { accountFailure } from '../control/access/errors.js';
import { commit } from '../control/write/commit.js';
import type { Context } from '../control/write/context.js';
import { authKeySecretSetAt, deleteAuthKeySecret, putAuthKeySecret } from '../store/objects/auth-key-secret.js';

/** The secret that changes by the bucket application must carry. */
export const AUTH_KEY_SECRET = 'AUTH_KEY_SECRET';

export interface SecretItem {
  readonly name: string;
  /** Microseconds since 1970. */
  readonly setAt: number;
}

const LONGEST = 4096;
/** What an HTTP header can carry unchanged (RFC 9110 §5.5): visible ASCII, blanks inside only. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Sets a secret, in place of the one before. For super administrators. */
export async function putSecret(ctx: Context, name: string, value: string): Promise<void> {
  requireKnown(ctx, name);
  if (value === '') throw refusal('The secret is empty: it would match nothing. Use `secret delete` to take it away.');
  if (value.length > LONGEST) throw refusal(`The secret is longer than ${LONGEST} characters.`);
  if (!HEADER_VALUE.test(value)) {
    throw refusal(
      'The secret must be visible ASCII, without blanks at its ends: no HTTP header could carry it otherwise.',
    );
  }
  await commit(ctx, (draft) => {
    putAuthKeySecret(ctx.store, value, draft.now);
    draft.audit({ action: 'secret.put', after: { name } });
  });
}

/** For super administrators. */
export async function listSecrets(ctx: Context): Promise<SecretItem[]> {
  requireOperator(ctx);
  const setAt = authKeySecretSetAt(ctx.store);
  return setAt === undefined ? [] : [{ name: AUTH_KEY_SECRET, setAt }];
}

/** Throws when it is not set. For super administrators. */
export async function deleteSecret(ctx: Context, name: string): Promise<void> {
  requireKnown(ctx, name);
  await commit(ctx, (draft) => {
    if (authKeySecretSetAt(ctx.store) === undefined) throw refusal(`${name} is not set.`);
    deleteAuthKeySecret(ctx.store);
    draft.audit({ action: 'secret.delete', before: { name } });
  });
}

function requireKnown(ctx: Context, name: string): void {
  requireOperator(ctx);
  if (name === AUTH_KEY_SECRET) return;
  throw refusal(`The application knows no secret ${name.slice(0, 64)}: it reads ${AUTH_KEY_SECRET}.`);
}

function requireOperator({ actor }: Context): void {
  if (!actor.superAdministrator) throw accountFailure('notAllowed');
}

const refusal = (reason: string) => accountFailure('badInput', { reason });
