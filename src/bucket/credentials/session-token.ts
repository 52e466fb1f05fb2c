/**
 * Temporary credentials of S3 clients: a JWT (RFC 7519) that the holder of a secret access key signs with it, here or elsewhere. It
 * says for how long, for which bucket and for what they are. Nothing about them is stored. Pure.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const PERMISSIONS = ['admin-read-write', 'admin-read-only', 'object-read-write', 'object-read-only'] as const;
export type TemporaryPermission = (typeof PERMISSIONS)[number];

/** What temporary credentials may do of what their parent may. */
export interface TemporaryLimits {
  readonly bucket: string;
  readonly permission: TemporaryPermission;
  /** Names of operations; undefined: all that the permission has. */
  readonly actions?: readonly string[] | undefined;
  /** Keys, and beginnings of keys; undefined: all. */
  readonly objects?: readonly string[] | undefined;
  readonly prefixes?: readonly string[] | undefined;
}

export interface TemporaryClaims extends TemporaryLimits {
  /** Identifier of the account. */
  readonly account: string;
  /** The access key ID of the parent. */
  readonly parent: string;
  /** The host at which they are used. */
  readonly audience: string;
  /** Seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** In seconds: a week. */
export const LONGEST_TTL = 604_800;
const MARK = 'jwt/';
const LONGEST = 8192;
const HEADER = { alg: 'HS256', typ: 'JWT' };

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signatureOf = (content: string, secret: string): Buffer => createHmac('sha256', secret).update(content).digest();

/** The secret access key that belongs to a session token. */
const secretOf = (jwt: string): string => createHash('sha256').update(jwt).digest('hex');

export function makeSessionToken(claims: TemporaryClaims, secret: string) {
  const { account, parent, audience, issuedAt, expiresAt, bucket, permission, actions, objects, prefixes } = claims;
  const isPathBound = objects !== undefined || prefixes !== undefined;
  const payload = {
    ...{ sub: account, iss: parent, aud: audience, iat: issuedAt, exp: expiresAt, bucket, scope: permission },
    ...(actions && { actions }),
    ...(isPathBound && { paths: { prefixPaths: prefixes ?? [], objectPaths: objects ?? [] } }),
  };
  const content = `${encode(HEADER)}.${encode(payload)}`;
  const jwt = `${content}.${signatureOf(content, secret).toString('base64url')}`;
  return { secretAccessKey: secretOf(jwt), sessionToken: Buffer.from(MARK + jwt).toString('base64') };
}

/**
 * What a session token says, and the secret that belongs to it. Undefined when it is malformed, signed by another secret, or says
 * what is not understood.
 */
export function readSessionToken(
  token: string,
  secret: string,
): { readonly claims: TemporaryClaims; readonly secretAccessKey: string } | undefined {
  if (token.length > LONGEST) return undefined;
  const text = Buffer.from(token, 'base64').toString('latin1');
  if (!text.startsWith(MARK)) return undefined;
  const jwt = text.slice(MARK.length);
  const [header, payload, signature, ...more] = jwt.split('.');
  if (signature === undefined || more.length > 0 || parse(header)?.['alg'] !== 'HS256') return undefined;
  const expected = signatureOf(`${header}.${payload}`, secret);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const claims = readClaims(parse(payload) ?? {});
  return claims && { claims, secretAccessKey: secretOf(jwt) };
}

function parse(part: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const KNOWN = new Set(['sub', 'iss', 'aud', 'iat', 'exp', 'bucket', 'scope', 'actions', 'paths', 'jti', 'nbf']);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

function readClaims(claims: Readonly<Record<string, unknown>>): TemporaryClaims | undefined {
  const { sub, iss, aud, iat, exp, bucket, scope, actions, paths, nbf } = claims;
  const permission = PERMISSIONS.find((known) => known === scope);
  const texts = [sub, iss, aud, bucket].every((value) => typeof value === 'string');
  if (!texts || permission === undefined || !Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return undefined;
  if (Object.keys(claims).some((name) => !KNOWN.has(name)) || nbf !== undefined) return undefined;
  if (actions !== undefined && !isTexts(actions)) return undefined;
  const bound = paths === undefined ? {} : readPaths(paths);
  if (!bound) return undefined;
  return {
    ...{ account: sub as string, parent: iss as string, audience: aud as string, bucket: bucket as string },
    ...{ issuedAt: iat as number, expiresAt: exp as number, permission, actions, ...bound },
  };
}

function readPaths(paths: unknown): Pick<TemporaryLimits, 'objects' | 'prefixes'> | undefined {
  if (typeof paths !== 'object' || paths === null) return undefined;
  const { prefixPaths = [], objectPaths = [], ...others } = paths as Record<string, unknown>;
  if (!isTexts(prefixPaths) || !isTexts(objectPaths) || Object.keys(others).length > 0) return undefined;
  return { prefixes: prefixPaths, objects: objectPaths };
}

/** What a request asks for; `key` and `prefix` of what it names. */
export interface RequestedAccess {
  readonly area: string;
  readonly level: 'read' | 'write';
  readonly bucket: string | undefined;
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
}

export function withinLimits(limits: TemporaryLimits, { area, level, bucket, key, prefix }: RequestedAccess): boolean {
  if (bucket !== limits.bucket) return false;
  if (level === 'write' && limits.permission.endsWith('read-only')) return false;
  if (area !== 'objects' && !limits.permission.startsWith('admin-')) return false;
  const { objects, prefixes } = limits;
  if (objects === undefined && prefixes === undefined) return true;
  // Rules of a bucket, such as its lifecycle, act on all keys.
  if (area !== 'objects' && level === 'write') return false;
  const begins = (text: string): boolean => (prefixes ?? []).some((beginning) => text.startsWith(beginning));
  if (key !== undefined) return begins(key) || (objects ?? []).includes(key);
  return prefix === undefined || begins(prefix);
}
