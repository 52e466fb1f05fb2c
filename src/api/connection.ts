/** What happens below HTTP requests: time limits for slow clients, answers to malformed HTTP, and fields of every answer. */
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import type { AppError } from '../base/errors.js';
import { refusal } from './envelope.js';
import { errorItems, failure, originForm } from './errors.js';
import { parseQuery } from './query.js';

/**
 * In milliseconds. A connection may be idle for `connectionTimeout`; headers must arrive within `headersTimeout`. The
 * time of a whole request allows for an object of the largest size over a slow line; other bodies have their own limit
 * (body.ts).
 */
export const TIMEOUTS = {
  connectionTimeout: 120_000,
  requestTimeout: 3_600_000,
  keepAliveTimeout: 72_000,
  http: { headersTimeout: 15_000, maxHeaderSize: 32 * 1024 },
} as const;

export const MOST_CONNECTIONS = 2048;

/** Fields of every answer that keep browsers from running or framing it; the operator decides whether connections are encrypted. */
export const SECURITY_FIELDS = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
} as const;

/** Answers a malformed HTTP request in the format of all refusals and closes the connection. */
export function answerClientError(error: ConnectionError, socket: Socket): void {
  // What follows the last request of a connection is nobody's: the request before it is answered (some clients send stale
  // octets).
  if (error.code === 'HPE_CLOSED_CONNECTION') return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(refusal(errorItems(refusalOf(error))));
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function refusalOf(error: ConnectionError): AppError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure('tooSlow');
  return failure('badRequest', {
    detail: error.code === 'HPE_HEADER_OVERFLOW' ? 'its headers are too large' : 'it is malformed',
  });
}

/** Base path of the v4 routes: the vendor's. The short one leads to the same routes (v4: §0.20). */
export const PREFIX = '/client/v4';
const SHORT_PREFIX = /^\/+v4(?=[/?]|$)/;

/**
 * The target for the router. Percent signs that begin no escape are escaped below buckets: the router would refuse the path,
 * but the object routes must report the problem with a key.
 */
function routableTarget(target: string): string {
  const path = originForm(target).replace(SHORT_PREFIX, PREFIX);
  return path.includes('/r2/buckets/') && !isDecodable(path) ? path.replaceAll('%', '%25') : path;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const MAX_PARAM_LENGTH = 2048;

/** How targets lead to routes. */
export const ROUTING = {
  routerOptions: {
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: MAX_PARAM_LENGTH,
    querystringParser: (text: string) => parseQuery(text) as Record<string, unknown>,
  },
  rewriteUrl: (request: { readonly url?: string | undefined }) => routableTarget(request.url ?? '/'),
};
