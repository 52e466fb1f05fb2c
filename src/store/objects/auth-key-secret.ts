/**
 * The secret of the bucket application, set by the operator at the command line. Stored as HMAC-SHA256 under the
 * installation's pepper: it can be compared with the secret of a request, but a reader of the database cannot use it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Store } from '../driver.js';
import { credentialPepper, deleteMeta, findMeta, putMeta } from '../meta.js';

/** When the secret was set, in microseconds since 1970; undefined when there is none. */
export function authKeySecretSetAt(store: Store): number | undefined {
  return findMeta(store, 'auth_key_secret_set_at') as number | undefined;
}

export function putAuthKeySecret(store: Store, secret: string, nowUs: number): void {
  putMeta(store, 'auth_key_secret_hash', hash(store, secret));
  putMeta(store, 'auth_key_secret_set_at', nowUs);
}

export function deleteAuthKeySecret(store: Store): void {
  deleteMeta(store, 'auth_key_secret_hash');
  deleteMeta(store, 'auth_key_secret_set_at');
}

/** Whether `given` is the secret; false when none is set. Takes the same time for every wrong value. */
export function isAuthKeySecret(store: Store, given: string): boolean {
  const kept = findMeta(store, 'auth_key_secret_hash');
  return kept instanceof Uint8Array && timingSafeEqual(kept, hash(store, given));
}

function hash(store: Store, secret: string): Uint8Array {
  return createHmac('sha256', credentialPepper(store)).update(secret).digest();
}
