/** AWS Signature Version 4: strings to sign, keys and signatures. Pure. */
import { hash, timingSafeEqual } from 'node:crypto';
import { encodeStrictly, type Query } from '../target.js';

export const ALGORITHM = 'AWS4-HMAC-SHA256';
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** What a signature holds for: day, region, service. */
export interface Scope {
  /** `20261125`. */
  readonly date: string;
  readonly region: string;
}

export interface CanonicalParts {
  readonly method: string;
  readonly canonicalPath: string;
  readonly query: Query;
  /** Lower-case names, in order, with the values of the request. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly payload: string;
}

/** Octets of SHA-256. */
const [BLOCK, DIGEST] = [64, 32];

export const scopeText = ({ date, region }: Scope): string => `${date}/${region}/s3/aws4_request`;

/** Header values must be strings of octets, as node:http has them. */
export function canonicalRequest({ method, canonicalPath, query, headers, payload }: CanonicalParts): string {
  const fields = headers.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`);
  const names = headers.map(([name]) => name);
  return [method, canonicalPath, canonicalQuery(query), fields.join(''), names.join(';'), payload].join('\n');
}

function canonicalQuery(query: Query): string {
  const pairs = query.map(([name, value]) => [encodeStrictly(name), encodeStrictly(value)] as const);
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  pairs.sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

export function stringToSign(canonical: string, timestamp: string, scope: Scope): string {
  const digest = hash('sha256', Buffer.from(canonical, 'latin1'), 'hex');
  return [ALGORITHM, timestamp, scopeText(scope), digest].join('\n');
}

export function signingKey(secret: string, { date, region }: Scope): Buffer {
  return ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(Buffer.from(`AWS4${secret}`), date), region));
}

/**
 * HMAC (RFC 2104) from its two hashes: with `createHmac`, making an object of the key takes three times as long as hashing.
 */
function hmac(secret: Buffer, text: string): Buffer {
  const key = secret.length > BLOCK ? hash('sha256', secret, 'buffer') : secret;
  const inner = Buffer.alloc(BLOCK, 0x36);
  const outer = Buffer.alloc(BLOCK + DIGEST, 0x5c);
  for (let i = 0; i < key.length; i++) {
    inner[i]! ^= key[i]!;
    outer[i]! ^= key[i]!;
  }
  outer.set(hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer'), BLOCK);
  return hash('sha256', outer, 'buffer');
}

export function sign(key: Buffer, text: string): string {
  return hmac(key, text).toString('hex');
}

/** Compares in a time that does not depend on the difference. `given` must be hexadecimal digits. */
export function isSignature(expected: string, given: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
