/**
 * Requests to identity providers. Their addresses are named by administrators, and by what the providers say of themselves, so the egress
 * rule decides about every address that is connected to; nothing is followed, and answers are small and quick.
 */
import { Agent, fetch as request } from 'undici';
import { parseIP } from '../../base/ip.js';
import type { Egress } from '../../egress/egress.js';
import { checkedLookup } from '../../resolver/checked-lookup.js';
import type { Resolver } from '../../resolver/resolve.js';

export type ProviderFetch = (url: string, options: object) => Promise<Response>;

const LIMIT_MS = 10_000;
const MOST_OCTETS = 1_000_000;

/** `limitMs`: time limit of a whole answer. */
export function createProviderFetch(egress: Egress, resolver: Resolver, limitMs = LIMIT_MS): ProviderFetch {
  return async (url, options) => {
    const { hostname, port, protocol } = new URL(url);
    const portNumber = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    const literal = hostname.replace(/^\[|\]$/g, '');
    // A connection to an address looks nothing up.
    if (parseIP(literal)) requireAllowed(egress, literal, portNumber);
    const lookup = checkedLookup(resolver, (address) => requireAllowed(egress, address, portNumber));
    const agent = new Agent({
      allowH2: false,
      maxResponseSize: MOST_OCTETS,
      connect: { timeout: limitMs, lookup },
      headersTimeout: limitMs,
      bodyTimeout: limitMs,
    });
    try {
      const signal = AbortSignal.timeout(limitMs);
      const answer = await request(url, { ...options, redirect: 'manual', signal, dispatcher: agent } as never);
      const body = await answer.text();
      const headers = new Headers([...answer.headers]);
      return new Response(body === '' ? null : body, { status: answer.status, headers });
    } finally {
      await agent.destroy();
    }
  };
}

function requireAllowed(egress: Egress, address: string, port: number): void {
  const refusal = egress.refusal('sign-in', address, port);
  if (refusal !== undefined) throw new Error(refusal);
}
