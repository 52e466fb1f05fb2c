/**
 * Reads the token a customer puts on their web server. Customers choose where this asks, so it asks public addresses only, those
 * it has checked and no others, over plain HTTP, and follows nothing (edge specification §6).
 */
import { Agent, request } from 'undici';
import type { Clock } from '../base/clock.js';
import { isRoutable, parseIP } from '../base/ip.js';
import type { Resolver } from '../resolver/resolve.js';

/** The body at `http://host path`; undefined when there is none or the address may not be asked. Never throws. */
export type TokenFetch = (host: string, path: string) => Promise<string | undefined>;

export interface TokenFetchOptions {
  readonly resolver: Resolver;
  readonly clock: Clock;
  /** Whether an address may be asked; by default those that the Internet routes to. */
  readonly isAllowed?: (address: Uint8Array) => boolean;
  /** Default 80. */
  readonly port?: number;
}

/** From the first question to the last octet, milliseconds. */
const LIMIT_MS = 5000;
const MOST_OCTETS = 1024;
const MOST_ADDRESSES = 2;
const USER_AGENT = 'Zoneplane hostname verification';

export function createTokenFetch({
  resolver,
  clock,
  isAllowed = isRoutable,
  port = 80,
}: TokenFetchOptions): TokenFetch {
  return async (host, path) => {
    for (const address of await addressesOf(resolver, host, isAllowed)) {
      const text = await fetchFrom(address, { host, path, port, clock });
      if (text !== undefined) return text;
    }
    return undefined;
  };
}

async function addressesOf(resolver: Resolver, host: string, isAllowed: (address: Uint8Array) => boolean) {
  const answers = await Promise.all([resolver.resolve(host, 'A'), resolver.resolve(host, 'AAAA')]);
  const texts = answers.flatMap(({ records }) => records.map(({ content }) => content));
  const addresses = texts.flatMap((text) => parseIP(text) ?? []);
  // One address that must not be asked makes the whole name suspect.
  return addresses.every(isAllowed) ? texts.slice(0, MOST_ADDRESSES) : [];
}

interface Wanted {
  readonly host: string;
  readonly path: string;
  readonly port: number;
  readonly clock: Clock;
}

/** The URL contains the address, so the name is not resolved a second time. */
async function fetchFrom(address: string, { host, path, port, clock }: Wanted): Promise<string | undefined> {
  const agent = new Agent({
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
    const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}${path}`;
    const headers = { host, 'user-agent': USER_AGENT, accept: 'text/plain' };
    const answer = await request(url, { method: 'GET', headers, dispatcher: agent, signal: late.signal });
    const text = await answer.body.text();
    return answer.statusCode === 200 ? text.trim() : undefined;
  } catch {
    // Any failure means that there is no token. Only the customer can see the cause.
    return undefined;
  } finally {
    cancel();
    await agent.destroy();
  }
}
