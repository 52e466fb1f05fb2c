/**
 * HTTP requests to one authority (RFC 8555 §6.1): HTTPS only, the certificates of the system or a bundle of the operator's, no
 * redirects, and a limit on the size and on the time of every answer.
 */
import { Agent, errors, request } from 'undici';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { parseIP } from '../../base/ip.js';
import { AuthorityError } from '../authority.js';

/** Octets of a body. A chain of three RSA certificates takes 6,000, an order for 100 names 20,000. */
const MAX_BODY = 131_072;
const DEFAULT_TIMEOUT_MS = 20_000;

export interface TransportOptions {
  readonly userAgent: string;
  readonly clock: Clock;
  /** Roots to trust instead of the system's: PEM, one or more. */
  readonly caBundle?: string;
  /** For one request, from the first octet sent to the last one received, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface AcmeRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  /** Media type that is wanted. */
  readonly accept: string;
  /** A JWS in its flattened JSON form. */
  readonly body?: string;
}

export interface Answer {
  readonly url: string;
  readonly status: number;
  /** Media type in lower case, without parameters; empty where there is none. */
  readonly contentType: string;
  readonly body: string;
  /** `name`: lower case. The first value, where there are several. */
  header(name: string): string | undefined;
}

export interface Transport {
  /** Any answer is an answer. Throws an {@link AuthorityError}: `connection` without one, `unexpectedAnswer` for one too large. */
  send(wanted: AcmeRequest): Promise<Answer>;
  /** Ends requests under way with `connection`. */
  close(): Promise<void>;
}

export function createTransport({ userAgent, clock, caBundle, timeoutMs }: TransportOptions): Transport {
  const limitMs = timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const agent = new Agent({
    allowH2: false,
    maxResponseSize: MAX_BODY,
    connect: { timeout: limitMs, ...(caBundle !== undefined && { ca: caBundle }) },
  });

  const exchange = async ({ method, url, accept, body }: AcmeRequest, signal: AbortSignal): Promise<Answer> => {
    const headers = {
      'user-agent': userAgent,
      'accept-language': 'en',
      accept,
      ...(body !== undefined && { 'content-type': 'application/jose+json' }),
    };
    const options = { method, headers, dispatcher: agent, signal, headersTimeout: limitMs, bodyTimeout: limitMs };
    const answer = await request(url, { ...options, ...(body !== undefined && { body }) });
    const header = (name: string): string | undefined => [answer.headers[name] ?? []].flat()[0];
    const contentType = (header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    return { url, status: answer.statusCode, contentType, body: await answer.body.text(), header };
  };

  return {
    async send(wanted) {
      refuseInsecureUrl(wanted.url);
      const late = new AbortController();
      const cancel = clock.after(limitMs, () => late.abort(new Error(`no whole answer within ${limitMs / 1000} s`)));
      try {
        return await exchange(wanted, late.signal);
      } catch (error) {
        throw asAuthorityError(wanted.url, error);
      } finally {
        cancel();
      }
    },
    close: () => agent.destroy(),
  };
}

/** HTTPS, or HTTP to this machine itself (tests, a proxy of the operator's). */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)));
}

function isLoopback(host: string): boolean {
  const address = parseIP(host.replace(/^\[(.*)\]$/, '$1'));
  if (address === undefined) return host === 'localhost';
  return address.length === 4 ? address[0] === 127 : address.every((octet, i) => octet === (i === 15 ? 1 : 0));
}

function refuseInsecureUrl(url: string): void {
  if (isSecureUrl(url)) return;
  const detail = `The certificate authority must be reached over https: ${url.slice(0, 200)}`;
  throw new AuthorityError({ type: 'unexpectedAnswer', detail, status: 0, subproblems: [] });
}

function asAuthorityError(url: string, cause: unknown): AuthorityError {
  const { host } = new URL(url);
  const tooLarge = cause instanceof errors.ResponseExceededMaxSizeError;
  const detail = tooLarge
    ? `${host} answered with more than ${MAX_BODY} octets.`
    : `${host} could not be asked: ${reasonOf(cause)}.`;
  const type = tooLarge ? 'unexpectedAnswer' : 'connection';
  return new AuthorityError({ type, detail, status: 0, subproblems: [] }, { cause });
}

/** Several addresses that were all tried leave an error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return messageOf(error).trim();
}
