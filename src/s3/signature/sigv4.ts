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

/** The first blocks of both hashes of an HMAC, which depend on its key alone; the second has room for the digest of the first. */
interface Pads {
  readonly inner: Buffer;
  readonly outer: Buffer;
}

/** Longer texts get a buffer of their own, together with their block. */
const MOST_JOINED = 1024;
const joined = Buffer.alloc(BLOCK + MOST_JOINED);
const pads = new WeakMap<Buffer, Pads>();

function padsOf(secret: Buffer): Pads {
  let known = pads.get(secret);
  if (known) return known;
  const key = secret.length > BLOCK ? hash('sha256', secret, 'buffer') : secret;
  known = { inner: Buffer.alloc(BLOCK, 0x36), outer: Buffer.alloc(BLOCK + DIGEST, 0x5c) };
  for (let i = 0; i < key.length; i++) {
    known.inner[i]! ^= key[i]!;
    known.outer[i]! ^= key[i]!;
  }
  pads.set(secret, known);
  return known;
}

/**
 * HMAC (RFC 2104) from its two hashes, in hexadecimal: with `createHmac`, making an object of the key takes three times as long as
 * hashing.
 */
function hmacHex(secret: Buffer, text: string): string {
  const { inner, outer } = padsOf(secret);
  const length = Buffer.byteLength(text);
  const message = length <= MOST_JOINED ? joined : Buffer.alloc(BLOCK + length);
  message.set(inner);
  message.write(text, BLOCK);
  outer.write(hash('sha256', message.subarray(0, BLOCK + length), 'hex'), BLOCK, 'hex');
  return hash('sha256', outer, 'hex');
}

const hmac = (secret: Buffer, text: string): Buffer => Buffer.from(hmacHex(secret, text), 'hex');

export const sign = (key: Buffer, text: string): string => hmacHex(key, text);

/** Compares in a time that does not depend on the difference. `given` must be hexadecimal digits. */
export function isSignature(expected: string, given: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
}
