/** Authentication: the two credential schemes and the answer to each error (v4: §2, §15.1). */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { toHex } from '../base/bytes.js';
import type { AppError, ChainedError } from '../base/errors.js';
import {
  authenticateKey,
  authenticateLink,
  authenticateSession,
  authenticateToken,
} from '../control/access/authentication.js';
import { noteRefusedSignIn } from '../control/access/refused-sign-ins.js';
import type { ContextBase } from '../control/kernel/context.js';
import { lacksSecondFactor } from '../sign-in/enforcement.js';
import { failure } from './errors.js';
import type { Caller } from './request.js';
import { readSessionCookie, requireOwnPage } from './sessions/cookie.js';

/** The credential of a request: a bearer token, or a key together with its user's e-mail address. */
export type Credential =
  | { readonly scheme: 'token'; readonly secret: string }
  | { readonly scheme: 'key'; readonly secret: string; readonly email: string };

/** A link that the program or `zoneplane dashboard link` printed; only for beginning a session. */
const LINK = /^login-link +([a-zA-Z0-9_-]{40})$/i;
const BEARER = /^bearer +([a-zA-Z0-9_-]{20,200})$/i;
const KEY = /^[0-9a-zA-Z_-]{37,200}$/;
const EMAIL = /^[^\s@,]{1,64}@[^\s@,]{1,190}$/;

const BAD_EMAIL: ChainedError = { code: 6102, message: 'Invalid format for X-Auth-Email header' };
const BAD_KEY: ChainedError = { code: 6103, message: 'Invalid format for X-Auth-Key header' };
const BAD_BEARER: ChainedError = { code: 6111, message: 'Invalid format for Authorization header' };

/**
 * The credential of a request; the token wins if both are present. Throws 9106 when there is none (or half of the key
 * pair), 6003 with the invalid headers in its chain when one is malformed.
 */
export function readCredential(headers: IncomingHttpHeaders, takesPassword = false): Credential {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const secret = (takesPassword ? passwordOf(authorization) : undefined) ?? BEARER.exec(authorization)?.[1];
    if (secret === undefined) throw failure('badHeaders', {}, { chain: [BAD_BEARER] });
    return { scheme: 'token', secret };
  }
  const email = headers['x-auth-email'];
  const key = headers['x-auth-key'];
  if (email === undefined || key === undefined) throw failure('noCredential');
  const chain = [
    ...(typeof email === 'string' && EMAIL.test(email) ? [] : [BAD_EMAIL]),
    ...(typeof key === 'string' && KEY.test(key) ? [] : [BAD_KEY]),
  ];
  if (chain.length > 0) throw failure('badHeaders', {}, { chain });
  return { scheme: 'key', secret: key as string, email: email as string };
}

/**
 * The sender of a request. Throws for a missing or malformed credential, 403/9103 for an unknown key pair, 403/9109 for
 * a token that is unknown, expired or revoked; 401/1000 instead on the routes that check tokens.
 */
export async function authenticate(base: ContextBase, request: FastifyRequest): Promise<Caller> {
  const byBrowser = await authenticateBrowser(base, request);
  if (byBrowser) return byBrowser;
  const credential = readCredential(request.headers, request.routeOptions.config?.takesPassword);
  const { scheme, secret } = credential;
  // Before the credential is read: what is committed meanwhile counts.
  const state = base.store.committedState();
  const found =
    credential.scheme === 'token'
      ? await authenticateToken(base, secret, request.clientAddress)
      : await authenticateKey(base, credential.email, secret, request.clientAddress);
  if (found.ok) return { actor: found.actor, key: found.key, keyHash: found.hash, scheme, state };
  if (found.reason === 'location') throw failure('wrongLocation', { address: request.clientAddress });
  if (found.reason === 'unknown') noteRefusedSignIn(base, { reason: 'unknown', address: request.clientAddress });
  if (scheme === 'key') throw await refuseKey(base, secret, request.clientAddress);
  throw failure(request.routeOptions.config?.verifiesToken ? 'invalidToken' : 'unknownToken');
}

/**
 * The sender of a request that has a session, or a link where sessions begin; undefined for other requests: a credential in
 * the headers counts before the cookie. Throws 401/9109 for a session that is over.
 */
async function authenticateBrowser(base: ContextBase, request: FastifyRequest): Promise<Caller | undefined> {
  const { headers, routeOptions, clientAddress: address } = request;
  const link = routeOptions.config?.signsIn ? linkOf(headers) : undefined;
  if (link !== undefined) {
    const found = await authenticateLink(base, link, address);
    if (!found.ok) throw failure('unknownLink');
    return { actor: found.actor, key: found.key, scheme: found.key.kind };
  }
  if (headers.authorization !== undefined || headers['x-auth-key'] !== undefined) return undefined;
  const secret = readSessionCookie(base.store, request);
  if (secret === undefined) return undefined;
  requireOwnPage(request);
  const found = await authenticateSession(base, secret, address);
  if (found.ok) {
    const { actor, key, hash, session } = found;
    const mustEnrol = key === undefined && lacksSecondFactor(base.store, session);
    return { actor, key, keyHash: hash, scheme: key?.kind ?? 'session', session: toHex(session.id), mustEnrol };
  }
  throw found.reason === 'location' ? failure('wrongLocation', { address }) : failure('sessionOver');
}

/** A token that is sent as the password of Basic authentication (RFC 7617). */
function passwordOf(authorization: string): string | undefined {
  const [, encoded] = /^basic +([a-z0-9+/=]{1,1000})$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const [, secret] = /^[^:]*:([a-zA-Z0-9_-]{20,200})$/.exec(Buffer.from(encoded, 'base64').toString('latin1')) ?? [];
  return secret;
}

/** The secret of the link that a request brings. */
export function linkOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : LINK.exec(authorization)?.[1];
}

/** A token in the place of a key is malformed there, and says so to whoever has it (v4: §2). */
async function refuseKey(base: ContextBase, secret: string, address: string): Promise<AppError> {
  const found = await authenticateToken(base, secret, address);
  const isToken = found.ok ? found.key.kind === 'token' : found.reason === 'location';
  return isToken ? failure('badHeaders', {}, { chain: [BAD_KEY] }) : failure('unknownKey');
}
