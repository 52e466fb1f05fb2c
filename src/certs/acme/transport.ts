/**
 * HTTP requests to one authority (RFC 8555 §6.1): HTTPS only, roots of the system or of the operator's bundle, no
 * redirects, and limits on the size and time of every answer.
 */
import { Agent, errors, request } from 'undici';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { parseIP } from '../../base/ip.js';
import { AuthorityError } from '../authority.js';

/** The largest body in octets. A chain of three RSA certificates has 6,000, an order for 100 names 20,000. */
const MAX_BODY = 131_072;
const DEFAULT_TIMEOUT_MS = 20_000;

export interface TransportOptions {
  readonly userAgent: string;
  readonly clock: Clock;
  /** Trusted roots, replacing the system's: PEM, one or more. */
  readonly caBundle?: string;
  /** Milliseconds for one request, from the first octet sent to the last one received. */
  readonly timeoutMs?: number;
}

export interface AcmeRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  /** Requested media type. */
  readonly accept: string;
  /** A JWS in its flattened JSON form. */
  readonly body?: string;
}

export interface Answer {
  readonly url: string;
  readonly status: number;
  /** Media type in lower case without parameters; empty when there is none. */
  readonly contentType: string;
  readonly body: string;
  /** `name`: lower case. Returns the first value. */
  header(name: string): string | undefined;
  /** `name`: lower case. All values. */
  headers(name: string): readonly string[];
}

export interface Transport {
  /**
   * Returns any HTTP answer. Throws an {@link AuthorityError}: `connection` without an answer, `unexpectedAnswer` for
   * one that is too large.
   */
  send(wanted: AcmeRequest): Promise<Answer>;
  /** Aborts running requests with `connection`. */
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
    const valuesOf = (name: string): readonly string[] => [answer.headers[name] ?? []].flat();
    const header = (name: string): string | undefined => valuesOf(name)[0];
    const contentType = (header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    return { url, status: answer.statusCode, contentType, body: await answer.body.text(), header, headers: valuesOf };
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

/** HTTPS, or HTTP to this machine itself (tests, the operator's own proxy). */
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
    : `${host} could not be reached: ${reasonOf(cause)}.`;
  const type = tooLarge ? 'unexpectedAnswer' : 'connection';
  return new AuthorityError({ type, detail, status: 0, subproblems: [] }, { cause });
}

/** An error after trying several addresses has no message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return messageOf(error).trim();
}
