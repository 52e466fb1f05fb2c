/**
 * The cookie of a session, and the conditions for requests that bring it. A browser adds cookies by itself, so a request counts
 * only when a page of ours sent it (RFC 6265 §8.2).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../../store/driver.js';
import { findMeta } from '../../store/meta.js';
import { failure } from '../errors.js';

/** Pages of other origins cannot add it: browsers would ask us first (CORS), and nothing here permits that. */
const OWN_HEADER = 'zoneplane-dashboard';
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const SECRET = /^[0-9A-Za-z_-]{40}$/;

/**
 * Cookies of one host are shared by all its ports, so the name has a part of the installation's identifier. The prefix makes
 * browsers accept it only over TLS and only from this host (RFC 6265bis §4.1.3.2).
 */
function cookieName(store: Store, { isSecure }: FastifyRequest): string {
  const name = `zoneplane_${String(findMeta(store, 'installation')).slice(0, 8)}`;
  return isSecure ? `__Host-${name}` : name;
}

/** What the browser keeps while it is at an identity provider. It comes back from there, so the cookie comes along from other sites. */
const flowName = (store: Store, request: FastifyRequest): string => `${cookieName(store, request)}_sso`;

export function readFlowCookie(store: Store, request: FastifyRequest): string {
  const name = `${flowName(store, request)}=`;
  const pair = request.headers.cookie?.split(';').find((text) => text.trim().startsWith(name));
  return pair?.trim().slice(name.length) ?? '';
}

/** `value` empty: the browser forgets it. */
export function setFlowCookie(store: Store, request: FastifyRequest, reply: FastifyReply, value: string): void {
  const attributes = [`${flowName(store, request)}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (request.isSecure) attributes.push('Secure');
  reply.header('set-cookie', [...attributes, `Max-Age=${value === '' ? 0 : 600}`].join('; '));
}

/** The secret of the session whose cookie the request brings. */
export function readSessionCookie(store: Store, request: FastifyRequest): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined) return undefined;
  const name = cookieName(store, request);
  for (const pair of cookie.split(';')) {
    const [key, value = ''] = pair.trim().split('=', 2);
    if (key === name && SECRET.test(value)) return value;
  }
  return undefined;
}

/** `secret` undefined: the browser forgets the cookie. `seconds`: how long it keeps it. */
export function setSessionCookie(
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
  { secret = '', seconds }: { readonly secret?: string; readonly seconds: number },
): void {
  const attributes = [`${cookieName(store, request)}=${secret}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  if (request.isSecure) attributes.push('Secure');
  reply.header('set-cookie', [...attributes, `Max-Age=${seconds}`].join('; '));
}

/**
 * Throws 403 for a request that a page of another origin may have caused. Browsers say so in `Sec-Fetch-Site` (on https and on
 * loopback) and in `Origin`; a write must also have our own header.
 */
export function requireOwnPage({ headers, method }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw failure('foreignPage', { reason: 'this one comes from another site' });
  }
  if (SAFE_METHODS.has(method)) return;
  if (headers[OWN_HEADER] === undefined) {
    throw failure('foreignPage', { reason: `a change needs the header ${OWN_HEADER}` });
  }
  if (site === undefined && headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)) {
    throw failure('foreignPage', { reason: 'its Origin is another host' });
  }
}

/** Whether an origin is the host that the request was sent to; either may leave out the usual port. */
function isOwnOrigin(origin: string, host = ''): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: place } = new URL(origin);
  const own = `${protocol}//${host}`;
  return place !== '' && URL.canParse(own) && new URL(own).host === place;
}
