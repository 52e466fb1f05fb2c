/**
 * Reads the token a customer puts on their web server. Customers choose where this asks, so it asks public addresses only,
 * those it has checked and no others, over plain HTTP, and follows nothing (edge specification §6).
 */
import { Client } from 'undici';
import type { Clock } from '../base/clock.js';
import { parseIP } from '../base/ip.js';
import type { Unseen } from '../certs/http-challenge.js';
import type { Egress } from '../egress/egress.js';
import type { Resolver } from '../resolver/resolve.js';

/**
 * The body at `http://host path`; undefined when there is none. `turnOf`: store number of the account whose turn at the resolver it
 * takes. Never throws.
 */
export type TokenFetch = (host: string, path: string, turnOf?: number) => Promise<string | Unseen | undefined>;

export interface TokenFetchOptions {
  readonly resolver: Resolver;
  readonly clock: Clock;
  /** Decides which addresses are asked. */
  readonly egress: Egress;
  /** Default 80. */
  readonly port?: number;
}

/** From the first question to the last octet, milliseconds. */
const LIMIT_MS = 5000;
const MOST_OCTETS = 1024;
const MOST_ADDRESSES = 2;
const USER_AGENT = 'Zoneplane hostname verification';

export function createTokenFetch({ resolver, clock, egress, port = 80 }: TokenFetchOptions): TokenFetch {
  return async (host, path, turnOf) => {
    const addresses = await addressesOf(resolver, host, turnOf);
    // One address that must not be asked makes the whole name suspect.
    const refused = addresses.find((text) => egress.refusal('http-checks', text, port) !== undefined);
    if (refused !== undefined) {
      const remedy = 'the operator can allow its network for http-checks (allow-networks)';
      return { reason: `${host} has the address ${refused}, which is refused by policy; ${remedy}.` };
    }
    let unreachable = 0;
    const asked = addresses.slice(0, MOST_ADDRESSES);
    for (const address of asked) {
      const found = await fetchFrom(address, { host, path, port, clock });
      if (found === 'unreachable') unreachable++;
      else if (found.text !== undefined) return found.text;
    }
    if (asked.length === 0 || unreachable < asked.length) return undefined;
    return { reason: `${asked.join(' and ')} ${asked.length > 1 ? 'do' : 'does'} not answer on port ${port}.` };
  };
}

async function addressesOf(resolver: Resolver, host: string, turnOf: number | undefined): Promise<readonly string[]> {
  const answers = await Promise.all([
    resolver.resolve(host, 'A', { turnOf }),
    resolver.resolve(host, 'AAAA', { turnOf }),
  ]);
  return answers.flatMap(({ records }) => records.map(({ content }) => content)).filter((text) => parseIP(text));
}

interface Wanted {
  readonly host: string;
  readonly path: string;
  readonly port: number;
  readonly clock: Clock;
}

/** The URL contains the address, so the name is not resolved a second time. */
async function fetchFrom(
  address: string,
  { host, path, port, clock }: Wanted,
): Promise<{ readonly text: string | undefined } | 'unreachable'> {
  let isAnswered = false;
  const client = new Client(`http://${address.includes(':') ? `[${address}]` : address}:${port}`, {
    allowH2: false,
    maxResponseSize: MOST_OCTETS,
    maxHeaderSize: 8192,
    connect: { timeout: LIMIT_MS },
    headersTimeout: LIMIT_MS,
    bodyTimeout: LIMIT_MS,
  });
  const late = new AbortController();
  const cancel = clock.after(LIMIT_MS, () => late.abort());
  try {
    const headers = { host, 'user-agent': USER_AGENT, accept: 'text/plain' };
    const answer = await client.request({ path, method: 'GET', headers, signal: late.signal });
    isAnswered = true;
    const text = await answer.body.text();
    return { text: answer.statusCode === 200 ? text.trim() : undefined };
  } catch {
    // Only the customer can see the cause.
    return isAnswered ? { text: undefined } : 'unreachable';
  } finally {
    cancel();
    await client.destroy();
  }
}
