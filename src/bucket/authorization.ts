/** The permissions of the bucket application. Checked before the method, the key and the body. */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Attempt {
  readonly method: string;
  readonly key: string;
  /** The first `X-Custom-Auth-Key` header; undefined when there is none. */
  readonly secret: string | undefined;
}

/** Whether the request is allowed. Methods other than PUT, GET and DELETE that are allowed are answered with 405. */
export type Authorize = (attempt: Attempt) => boolean;

/**
 * The rule of the application: clients with the secret may write, everyone may read the keys on the list, and nothing
 * else is allowed. `isSecret` must take the same time for every wrong value, and be false for every value when no
 * secret is set.
 */
export function authorizeByMethod(isSecret: (given: string) => boolean, allowed: ReadonlySet<string>): Authorize {
  return ({ method, key, secret }) => {
    switch (method) {
      case 'PUT':
      case 'DELETE':
        return secret !== undefined && secret !== '' && isSecret(secret);
      case 'GET':
        return allowed.has(key);
      default:
        return false;
    }
  };
}

/** Compares in a time that does not depend on the value or its length. An empty secret matches nothing. */
export function secretMatcher(secret: string): (given: string) => boolean {
  const expected = digest(secret);
  return (given) => timingSafeEqual(digest(given), expected) && secret !== '';
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
