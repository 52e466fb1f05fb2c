/** AWS Signature Version 4: strings to sign, keys and signatures. Pure. */
import { hash, timingSafeEqual } from 'node:crypto';
import { hmac, hmacHex } from '../../base/hmac.js';
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

export const scopeText = ({ date, region }: Scope): string => `${date}/${region}/s3/aws4_request`;

/** Header values must be strings of octets, as node:http has them. */
export function canonicalRequest({ method, canonicalPath, query, headers, payload }: CanonicalParts): string {
  let [fields, names] = ['', ''];
  for (const [name, value] of headers) {
    const trimmed = value.trim();
    fields += `${name}:${trimmed.includes('  ') ? trimmed.replace(/ +/g, ' ') : trimmed}\n`;
    names += names === '' ? name : `;${name}`;
  }
  return `${method}\n${canonicalPath}\n${canonicalQuery(query)}\n${fields}\n${names}\n${payload}`;
}

function canonicalQuery(query: Query): string {
  if (query.length === 0) return '';
  const pairs = query.map(([name, value]) => [encodeStrictly(name), encodeStrictly(value)] as const);
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  pairs.sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

export function stringToSign(canonical: string, timestamp: string, scope: Scope): string {
  const digest = hash('sha256', Buffer.from(canonical, 'latin1'), 'hex');
  return `${ALGORITHM}\n${timestamp}\n${scopeText(scope)}\n${digest}`;
}

export function signingKey(secret: string, { date, region }: Scope): Buffer {
  return ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(Buffer.from(`AWS4${secret}`), date), region));
}

export const sign = (key: Buffer, text: string): string => hmacHex(key, text);

/** Compares in a time that does not depend on the difference. `given` must be hexadecimal digits. */
export function isSignature(expected: string, given: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
