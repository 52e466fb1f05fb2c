/** Maps errors between edge and origin to failures of the 52x family. Pure. */
import { type Failure, failureOf } from '../error-pages/failures.js';

/** Codes of the errors of our own connections to origins. */
export const ORIGIN_CLOSED = 'ORIGIN_CLOSED';
export const ORIGIN_CONNECT_TIMEOUT = 'ORIGIN_CONNECT_TIMEOUT';
export const ORIGIN_RESPONSE_TIMEOUT = 'ORIGIN_RESPONSE_TIMEOUT';

/** By the error codes of Node, of undici and of our own connections. */
const BY_CODE: Readonly<Record<string, Parameters<typeof failureOf>[0]>> = {
  ECONNREFUSED: 'refused',
  UND_ERR_CONNECT_TIMEOUT: 'connectTimeout',
  [ORIGIN_CONNECT_TIMEOUT]: 'connectTimeout',
  ETIMEDOUT: 'connectTimeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EHOSTDOWN: 'unreachable',
  UND_ERR_HEADERS_TIMEOUT: 'responseTimeout',
  UND_ERR_BODY_TIMEOUT: 'responseTimeout',
  [ORIGIN_RESPONSE_TIMEOUT]: 'responseTimeout',
  EPROTO: 'tlsHandshake',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'originCertificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'originCertificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'originCertificate',
  UNABLE_TO_GET_ISSUER_CERT: 'originCertificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'originCertificate',
  HOSTNAME_MISMATCH: 'originCertificate',
};

export function originFailure(error: Error): Failure {
  const code = codeOf(error);
  const cause = `${code === undefined ? '' : `${code}: `}${error.message}`;
  const name = BY_CODE[code ?? ''];
  if (name) return failureOf(name, cause);
  if (code?.startsWith('CERT_') || code?.startsWith('ERR_TLS_CERT')) return failureOf('originCertificate', cause);
  const inHandshake = error.message.includes('before secure TLS connection was established');
  if (inHandshake || code?.startsWith('ERR_SSL') || code?.startsWith('ERR_TLS')) {
    return failureOf('tlsHandshake', cause, 'The origin may speak plain HTTP on this port: see the zone setting ssl.');
  }
  return failureOf('unreadable', cause);
}

/** HTTP has no others, and clients differ in what they make of them (RFC 9110 §15). */
const [FIRST_STATUS, LAST_STATUS] = [200, 599];

/** The failure to answer with instead of a final response that has no status of one. */
export function statusFailure(status: number): Failure | undefined {
  if (status >= FIRST_STATUS && status <= LAST_STATUS) return undefined;
  const remedy = 'Final responses have statuses from 200 to 599.';
  return failureOf('unreadable', `the origin answered with the status ${status}`, remedy);
}

/** Whether a response may come before the final one: 101 is for those who have asked for another protocol. */
export function isInterim(status: number): boolean {
  return status >= 100 && status < 200 && status !== 101;
}

/** Whether another connection may succeed: this one was closed or could not be opened. */
export function mayBeRepeated(error: Error): boolean {
  return REPEATABLE.has(codeOf(error) ?? '');
}

const REPEATABLE: ReadonlySet<string> = new Set([
  'UND_ERR_SOCKET',
  ORIGIN_CLOSED,
  'ECONNRESET',
  'EPIPE',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

function codeOf(error: Error): string | undefined {
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause instanceof Error ? codeOf(error.cause) : undefined;
}
