/** Answers to HTTP challenges (RFC 8555 §8.3), the same on every listener. */
import { findHttpChallenge } from '../store/certs/orders.js';
import type { Store } from '../store/driver.js';

/** The path before the token; authorities that look for their own file type use the second. */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/';
export const VALIDATION_PATH = '/.well-known/pki-validation/';

/** RFC 8555 §8.3. */
export const CHALLENGE_CONTENT_TYPE = 'application/octet-stream';

const PATH =
  /^\/\.well-known\/(?:acme-challenge\/([A-Za-z0-9_-]{1,256})|pki-validation\/([A-Za-z0-9_-]{1,256})(?:\.txt)?)$/;

/**
 * The body for a request with this host and path; undefined when no order waits for it, so that the path belongs to the
 * customer. `host`: as in the request, possibly with a port. `path`: without the query.
 */
export function answerHttpChallenge(store: Store, host: string, path: string): string | undefined {
  const [, token, file] = PATH.exec(path) ?? [];
  const wanted = token ?? file;
  return wanted === undefined ? undefined : findHttpChallenge(store, nameOf(host), wanted);
}

/** The form of order identifiers: lower case, no port, no final dot. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
