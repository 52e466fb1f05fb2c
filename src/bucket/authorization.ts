/** Who may do what in the bucket application. Asked before anything else: before the method, the key and the body. */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Attempt {
  readonly method: string;
  readonly key: string;
  /** The first `X-Custom-Auth-Key` header; undefined when there is none. */
  readonly secret: string | undefined;
}

/** Whether the attempt is let through. One that lets other methods than PUT, GET and DELETE through makes them answer 405. */
export type Authorize = (attempt: Attempt) => boolean;

/**
 * The rule of the application: changes for who has the secret, reading for all, of the keys on the list, and nothing else.
 * `isSecret` must take the same time for every wrong value, and be false for every value while no secret is set.
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

/** A comparison that takes as long for every value, whatever its length. An empty secret matches nothing. */
export function secretMatcher(secret: string): (given: string) => boolean {
  const expected = digest(secret);
  return (given) => timingSafeEqual(digest(given), expected) && secret !== '';
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
