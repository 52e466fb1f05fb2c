/** Answers to HTTP challenges (RFC 8555 §8.3), the same on every listener. */
import { equalBytes } from '../base/bytes.js';
import { parseIP } from '../base/ip.js';
import { isSingleAccount } from '../control/zones/claims.js';
import { parseName } from '../dns/name.js';
import type { Resolver } from '../resolver/resolve.js';
import { accountServing } from '../serving/hostname-proof.js';
import { findHttpChallenge } from '../store/certs/orders.js';
import type { Store } from '../store/driver.js';
import { findZone } from '../store/zones/zones.js';

/** The path before the token; authorities that look for their own file type use the second. */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/';
export const VALIDATION_PATH = '/.well-known/pki-validation/';

/** RFC 8555 §8.3. */
export const CHALLENGE_CONTENT_TYPE = 'application/octet-stream';

/** The web server of a name was not asked, or did not answer. */
export interface Unseen {
  /** A sentence. */
  readonly reason: string;
}

/**
 * Fetches the body at `http://<host>/.well-known/acme-challenge/<token>`; undefined when there is none. The
 * implementation restricts the allowed addresses and the size.
 */
export type FetchToken = (host: string, token: string) => Promise<string | Unseen | undefined>;

export interface ChallengeFetchOptions {
  readonly store: Store;
  readonly resolver: Resolver;
  /** Addresses of names that lead to the edge. Empty: there is no edge. */
  readonly edgeAddresses: readonly Uint8Array[];
  /** Asks the web server of a host for a path. */
  readonly fetch: FetchToken;
}

/**
 * Fetches the body of an HTTP challenge, as an authority would. Authorities ask port 80 (RFC 8555 §8.3). Names that lead
 * to the edge are answered there, from the same rows as here. So such a name is not asked over the network: this machine
 * may be unable to reach its own public address, or the edge may listen on another port behind a packet filter.
 */
export function createChallengeFetch({ store, resolver, edgeAddresses, fetch }: ChallengeFetchOptions): FetchToken {
  return async (host, token) => {
    const known = heldAnswer(store, nameOf(host), token);
    if (known !== undefined && edgeAddresses.length > 0 && (await leadsToEdge(resolver, host, edgeAddresses)))
      return known;
    return fetch(host, `${CHALLENGE_PATH}${token}`);
  };
}

async function leadsToEdge(resolver: Resolver, host: string, edge: readonly Uint8Array[]): Promise<boolean> {
  const options = { bypassCache: true };
  const answers = await Promise.all([resolver.resolve(host, 'A', options), resolver.resolve(host, 'AAAA', options)]);
  if (answers.some(({ proxied }) => proxied)) return true;
  const addresses = answers.flatMap(({ records }) => records.map(({ content }) => parseIP(content)));
  // The authority may ask any of them.
  return addresses.length > 0 && addresses.every((address) => address && edge.some((own) => equalBytes(own, address)));
}

const PATH =
  /^\/\.well-known\/(?:acme-challenge\/([A-Za-z0-9_-]{1,256})|pki-validation\/([A-Za-z0-9_-]{1,256})(?:\.txt)?)$/;

/**
 * The body for a request with this host and path; undefined when no order waits for it, so that the path belongs to the
 * customer. `host`: as in the request, possibly with a port. `path`: without the query.
 */
export function answerHttpChallenge(store: Store, host: string, path: string): string | undefined {
  const [, token, file] = PATH.exec(path) ?? [];
  const wanted = token ?? file;
  return wanted === undefined ? undefined : heldAnswer(store, nameOf(host), wanted);
}

/**
 * The answer to a challenge, for the orders of the account that decides what is served at the name: an order for somebody else's name
 * must not be proven by the edge that both share. Where nobody decides, this is for the only account there is.
 */
function heldAnswer(store: Store, host: string, token: string): string | undefined {
  const found = findHttpChallenge(store, host, token);
  if (!found || found.owner_kind === 'service') return found?.value;
  const account = findZone(store, found.zone)?.account;
  const holder = accountServing(store, host, parseName(`${host}.`));
  const isHeld = holder === undefined ? isSingleAccount(store) : holder === account;
  return isHeld ? found.value : undefined;
}

/** The form of order identifiers: lower case, no port, no final dot. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
