/**
 * Sends one message to a receiver. Tenants choose receivers, so the egress rule checks every address before a connection, the shared
 * resolver looks up names, redirects are not followed, and answers are limited in size and time.
 */
import { rootCertificates } from 'node:tls';
import { Agent, request } from 'undici';
import { type Clock, steadyMs } from '../base/clock.js';
import type { Egress } from '../egress/egress.js';
import { checkedLookup, NoAddress } from '../resolver/checked-lookup.js';
import type { Resolver } from '../resolver/resolve.js';
import { literalOf, portOf } from './webhooks.js';

export interface SendParts {
  readonly clock: Clock;
  readonly egress: Egress;
  readonly resolver: Resolver;
  /** Certificates in PEM that are trusted in addition to the public roots. */
  readonly trusted?: string | undefined;
}

export interface Outgoing {
  readonly url: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
  /** Store number of the account that chose the receiver. */
  readonly account: number;
}

/** The outcome of an attempt. */
export interface Attempt {
  readonly delivered: boolean;
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  /** Why it failed. */
  readonly reason: string | undefined;
  /** The beginning of the answer. */
  readonly answer: string | undefined;
  readonly durationMs: number;
  /** The receiver wants no more messages (410). */
  readonly isGone: boolean;
}

export interface Sender {
  /** Never rejects. `signal` ends the attempt. */
  send(message: Outgoing, signal?: AbortSignal): Promise<Attempt>;
  close(): Promise<void>;
}

/** Time limits of a whole attempt, and of the body once the status is known. */
const LIMIT_MS = 10_000;
const BODY_LIMIT_MS = 2_000;
const MOST_OCTETS = 16_384;
const KEPT_OCTETS = 1_000;
/** Idle connections that are kept for further messages. */
const MOST_AGENTS = 1_000;

class Refused extends Error {}

export function createSender(parts: SendParts): Sender {
  const agents = new Map<string, Agent>();

  const agentFor = (url: URL, account: number): Agent => {
    // Names in an account's own zones are resolved from them for this account only, so accounts share no connections.
    const key = `${account} ${url.origin}`;
    const known = agents.get(key);
    agents.delete(key);
    const agent = known ?? createAgent(parts, url, account);
    agents.set(key, agent);
    for (const [other, unused] of agents) {
      if (agents.size <= MOST_AGENTS) break;
      agents.delete(other);
      void unused.close().catch(() => {});
    }
    return agent;
  };

  return {
    async send(message, signal) {
      const startedMs = steadyMs(parts.clock);
      const late = new AbortController();
      const cancel = parts.clock.after(LIMIT_MS, () => late.abort());
      const end = (): void => late.abort();
      signal?.addEventListener('abort', end, { once: true });
      try {
        const found = await post(parts, agentFor(new URL(message.url), message.account), message, late);
        return { ...found, durationMs: Math.round(steadyMs(parts.clock) - startedMs) };
      } finally {
        cancel();
        signal?.removeEventListener('abort', end);
      }
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

type Found = Omit<Attempt, 'durationMs'>;

async function post(
  parts: SendParts,
  agent: Agent,
  { url, fields, body }: Outgoing,
  late: AbortController,
): Promise<Found> {
  try {
    const target = new URL(url);
    const literal = literalOf(target);
    // No lookup takes place, so the address is checked here.
    if (literal !== undefined) requireAllowed(parts.egress, literal, portOf(target));
    const headers = { 'content-type': 'application/json', 'user-agent': 'Zoneplane-Webhooks', ...fields };
    const answer = await request(target, { method: 'POST', headers, body, dispatcher: agent, signal: late.signal });
    const { statusCode: status } = answer;
    const text = await beginningOf(parts.clock, answer.body, late);
    const delivered = status >= 200 && status < 300;
    const reason = delivered ? undefined : reasonOfStatus(status);
    return { delivered, status, reason, answer: text, isGone: status === 410 };
  } catch (error) {
    return {
      delivered: false,
      ...{ status: undefined, answer: undefined, isGone: false },
      reason: late.signal.aborted ? `there was no answer within ${LIMIT_MS / 1000} s` : reasonOf(error),
    };
  }
}

function reasonOfStatus(status: number): string {
  if (status >= 300 && status < 400) return `the receiver redirects (${status}), which is not followed`;
  if (status === 410) return 'the receiver wants no more messages (410)';
  return `the receiver answered ${status}`;
}

/** Never rejects: the status decides, even if the body cannot be read. */
async function beginningOf(
  clock: Clock,
  body: AsyncIterable<Buffer> & { destroy(): unknown; on(event: 'error', run: () => void): unknown },
  late: AbortController,
): Promise<string> {
  const kept: Buffer[] = [];
  let octets = 0;
  let keptOctets = 0;
  body.on('error', () => {});
  const cancel = clock.after(BODY_LIMIT_MS, () => late.abort());
  try {
    for await (const piece of body) {
      octets += piece.length;
      if (keptOctets < KEPT_OCTETS) {
        const part = piece.subarray(0, KEPT_OCTETS - keptOctets);
        kept.push(part);
        keptOctets += part.length;
      }
      if (octets > MOST_OCTETS) break;
    }
  } catch {
    // The body is not needed.
  } finally {
    cancel();
    body.destroy();
  }
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '');
}

/** The reason for the owner. It is the same for all unreachable addresses, so that nobody can scan for listening ports. */
function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof Refused || cause instanceof NoAddress) return cause.message;
    const { code = '' } = cause as { readonly code?: string };
    if (/^(CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(VERIFY|GET))/.test(code)) {
      return 'the certificate of the receiver is not valid for its name, or not trusted';
    }
  }
  return 'the receiver cannot be reached, or does not speak HTTP';
}

function requireAllowed(egress: Egress, address: string, port: number): void {
  if (egress.refusal('webhooks', address, port) === undefined) return;
  throw new Refused('refused by policy: the address is not public; the operator can allow its network for webhooks');
}

function createAgent({ egress, resolver, trusted }: SendParts, url: URL, account: number): Agent {
  const ca = trusted ? [...rootCertificates, trusted] : undefined;
  const lookup = checkedLookup(resolver, (address) => requireAllowed(egress, address, portOf(url)), { account });
  return new Agent({
    allowH2: false,
    connections: 1,
    pipelining: 1,
    maxHeaderSize: 16_384,
    keepAliveTimeout: 5_000,
    keepAliveMaxTimeout: 5_000,
    headersTimeout: LIMIT_MS,
    bodyTimeout: LIMIT_MS,
    connect: { timeout: LIMIT_MS, lookup, ...(ca && { ca }) },
  });
}
