/** DNS cookies (RFC 7873) with server cookies that all servers with the same secret generate and accept (RFC 9018). */
// hot
import type { Query } from './query.js';
import type { Client } from './transport.js';

export const CLIENT_COOKIE_LENGTH = 8;
/** Version, three reserved octets, time, hash (RFC 9018 §4). */
export const SERVER_COOKIE_LENGTH = 16;
const HASH_AT = 8;

/**
 * Seconds: how long a cookie is valid, how far its time may be in the future, and the age at which it is renewed (RFC
 * 9018 §4.3).
 */
const LONGEST_AGE = 3600;
const LONGEST_AHEAD = 300;
const RENEWED_AT = 1800;

/** Result of checking a query's cookie. */
export const Cookie = {
  none: 0,
  /** Only a client cookie, or a server cookie that is not ours, expired, or of another address. */
  unknown: 1,
  /** Ours, but old enough to be renewed. */
  old: 2,
  fresh: 3,
} as const;

/** Secrets and scratch memory of one engine. */
export interface CookieJar {
  /** Four words for each secret, little-endian: the first generates cookies, all are accepted. */
  readonly secrets: Int32Array;
  /** The hashed data: client cookie, version, reserved, time, address. */
  readonly message: Uint8Array;
  readonly hash: Int32Array;
}

/** `secrets`: 16 octets each, the current one first. */
export function createCookieJar(secrets: readonly Uint8Array[]): CookieJar {
  const octets = Buffer.concat(secrets);
  const words = new Int32Array(secrets.length * 4);
  for (let i = 0; i < words.length; i++) words[i] = octets.readInt32LE(i * 4);
  return { secrets: words, message: new Uint8Array(40), hash: new Int32Array(2) };
}

/** Checks the cookie of a query. The client cookie is remembered for {@link writeServerCookie}. */
export function judgeCookie(jar: CookieJar, query: Query, client: Client): number {
  if (query.cookieLength === 0) return Cookie.none;
  const { message } = jar;
  const { request, cookieAt } = query;
  for (let i = 0; i < CLIENT_COOKIE_LENGTH; i++) message[i] = request[cookieAt + i]!;
  if (query.cookieLength !== CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH) return Cookie.unknown;
  const server = cookieAt + CLIENT_COOKIE_LENGTH;
  if (request[server] !== 1) return Cookie.unknown;
  const time =
    ((request[server + 4]! << 24) |
      (request[server + 5]! << 16) |
      (request[server + 6]! << 8) |
      request[server + 7]!) >>>
    0;
  // Serial number arithmetic (RFC 9018 §4.3).
  const age = (client.seconds - time) | 0;
  if (age > LONGEST_AGE || age < -LONGEST_AHEAD) return Cookie.unknown;
  for (let i = 0; i < HASH_AT; i++) message[CLIENT_COOKIE_LENGTH + i] = request[server + i]!;
  const length = putAddress(message, client);
  for (let secret = 0; secret < jar.secrets.length; secret += 4) {
    sipHash(jar, secret, length);
    if (differs(jar, request, server + HASH_AT) !== 0) continue;
    return age > RENEWED_AT || secret > 0 ? Cookie.old : Cookie.fresh;
  }
  return Cookie.unknown;
}

function putAddress(message: Uint8Array, client: Client): number {
  const { source, at, length } = client;
  for (let i = 0; i < length; i++) message[16 + i] = source[at + i]!;
  return 16 + length;
}

/** Compares every octet, so that the time does not reveal where they differ. */
function differs({ hash }: CookieJar, bytes: Uint8Array, at: number): number {
  let difference = 0;
  for (let i = 0; i < 8; i++) difference |= bytes[at + i]! ^ ((hash[i >> 2]! >>> ((i & 3) * 8)) & 0xff);
  return difference;
}

/** Writes the client and server cookie, 24 octets, at `to`: the received ones if they are fresh, otherwise new ones. */
export function writeCookies(
  jar: CookieJar,
  query: Query,
  client: Client,
  kind: number,
  out: Uint8Array,
  to: number,
): void {
  const { request, cookieAt } = query;
  if (kind === Cookie.fresh) {
    for (let i = 0; i < CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH; i++) out[to + i] = request[cookieAt + i]!;
    return;
  }
  const { message, hash } = jar;
  const { seconds } = client;
  message[8] = 1;
  message[9] = 0;
  message[10] = 0;
  message[11] = 0;
  message[12] = seconds >>> 24;
  message[13] = seconds >>> 16;
  message[14] = seconds >>> 8;
  message[15] = seconds;
  sipHash(jar, 0, putAddress(message, client));
  for (let i = 0; i < 16; i++) out[to + i] = message[i]!;
  for (let i = 0; i < 8; i++) out[to + 16 + i] = hash[i >> 2]! >>> ((i & 3) * 8);
}

// The state of SipHash: four words of 64 bits, each in two halves.
let v0l = 0;
let v0h = 0;
let v1l = 0;
let v1h = 0;
let v2l = 0;
let v2h = 0;
let v3l = 0;
let v3h = 0;

/** SipHash-2-4 of the first `length` octets of the message, 20 or 32, under the secret at word `secret`. */
function sipHash({ secrets, message, hash }: CookieJar, secret: number, length: number): void {
  const k0l = secrets[secret]!;
  const k0h = secrets[secret + 1]!;
  const k1l = secrets[secret + 2]!;
  const k1h = secrets[secret + 3]!;
  v0l = k0l ^ 0x70736575;
  v0h = k0h ^ 0x736f6d65;
  v1l = k1l ^ 0x6e646f6d;
  v1h = k1h ^ 0x646f7261;
  v2l = k0l ^ 0x6e657261;
  v2h = k0h ^ 0x6c796765;
  v3l = k1l ^ 0x79746573;
  v3h = k1h ^ 0x74656462;
  const whole = length & ~7;
  for (let at = 0; at < whole; at += 8) absorb(word(message, at), word(message, at + 4));
  let last = 0;
  for (let i = whole; i < length && i < whole + 4; i++) last |= message[i]! << ((i - whole) * 8);
  // The last word contains the remaining octets, none or four, and the length in its highest octet.
  absorb(last, (length & 0xff) << 24);
  v2l ^= 0xff;
  for (let i = 0; i < 4; i++) round();
  hash[0] = v0l ^ v1l ^ v2l ^ v3l;
  hash[1] = v0h ^ v1h ^ v2h ^ v3h;
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function absorb(low: number, high: number): void {
  v3l ^= low;
  v3h ^= high;
  round();
  round();
  v0l ^= low;
  v0h ^= high;
}

function round(): void {
  let low = (v0l >>> 0) + (v1l >>> 0);
  v0h = (v0h + v1h + (low > 0xffffffff ? 1 : 0)) | 0;
  v0l = low | 0;
  let left = (v1l << 13) | (v1h >>> 19);
  v1h = ((v1h << 13) | (v1l >>> 19)) ^ v0h;
  v1l = left ^ v0l;
  left = v0l;
  v0l = v0h;
  v0h = left;
  low = (v2l >>> 0) + (v3l >>> 0);
  v2h = (v2h + v3h + (low > 0xffffffff ? 1 : 0)) | 0;
  v2l = low | 0;
  left = (v3l << 16) | (v3h >>> 16);
  v3h = ((v3h << 16) | (v3l >>> 16)) ^ v2h;
  v3l = left ^ v2l;
  low = (v0l >>> 0) + (v3l >>> 0);
  v0h = (v0h + v3h + (low > 0xffffffff ? 1 : 0)) | 0;
  v0l = low | 0;
  left = (v3l << 21) | (v3h >>> 11);
  v3h = ((v3h << 21) | (v3l >>> 11)) ^ v0h;
  v3l = left ^ v0l;
  low = (v2l >>> 0) + (v1l >>> 0);
  v2h = (v2h + v1h + (low > 0xffffffff ? 1 : 0)) | 0;
  v2l = low | 0;
  left = (v1l << 17) | (v1h >>> 15);
  v1h = ((v1h << 17) | (v1l >>> 15)) ^ v2h;
  v1l = left ^ v2l;
  left = v2l;
  v2l = v2h;
  v2h = left;
}
