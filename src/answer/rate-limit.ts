/**
 * Response rate limiting, as in NSD, Knot and BIND. UDP answers of one class to one network about one name or zone are
 * counted; those above the rate are dropped or truncated. So forged queries cannot make this server flood a victim,
 * while real clients retry over TCP or with a cookie.
 */
// hot
import { Rcode } from '../dns/codes.js';
import type { Response } from './response.js';
import type { Client } from './transport.js';

/** A network without limit: the leading `bits` of an address of 4 or 16 octets. */
export interface ExemptNetwork {
  readonly address: Uint8Array;
  readonly bits: number;
}

export interface RateLimitSettings {
  /** Answers a second. */
  readonly rate: number;
  /**
   * One in this many answers over the limit is truncated and sent, the others are dropped; 0 = all are dropped, 1 = all
   * are truncated.
   */
  readonly slip: number;
  readonly exempt: readonly ExemptNetwork[];
  /** Created by {@link createRateMemory} and shared by all answering threads. */
  readonly memory: SharedArrayBuffer;
  /** Makes it unpredictable which answers share a bucket. */
  readonly seed: number;
}

/** What happens to an answer. */
export const Verdict = { send: 0, truncate: 1, drop: 2 } as const;

/** Words before the buckets. */
const Tally = { dropped: 0, truncated: 1 } as const;
const TALLY_WORDS = 16;
/** Words of a bucket. */
const Bucket = { check: 0, second: 1, used: 2, over: 3 } as const;
const BUCKET_WORDS = 4;
/** One bucket for each value of half a hash (16 bits). */
const BUCKETS = 1 << 16;

/** Octets of an address that identify its network: /24 and /56. */
const IPV4_OCTETS = 3;
const IPV6_OCTETS = 7;

/**
 * Classes of answers. Negative answers and referrals are counted by zone or zone cut, because an attacker can invent
 * names.
 */
const POSITIVE = 1;
const NO_DATA = 2;
const NX_DOMAIN = 3;
const REFERRAL = 4;
const ERROR = 5;

export interface RateLimiter {
  readonly settings: RateLimitSettings;
  readonly words: Int32Array<SharedArrayBuffer>;
}

export function createRateMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((TALLY_WORDS + BUCKETS * BUCKET_WORDS) * 4);
}

export function createRateLimiter(settings: RateLimitSettings): RateLimiter {
  return { settings, words: new Int32Array(settings.memory) };
}

/** Answers dropped and truncated so far; each wraps at 2^32. */
export function readRateTally(memory: SharedArrayBuffer): { readonly dropped: number; readonly truncated: number } {
  const words = new Int32Array(memory, 0, TALLY_WORDS);
  return {
    dropped: Atomics.load(words, Tally.dropped) >>> 0,
    truncated: Atomics.load(words, Tally.truncated) >>> 0,
  };
}

/**
 * Decides what happens to the answer in `response`, for a client with a known address. `node`: the image node that
 * answered, such as a wildcard's, or 0; `zone`: number of the zone, or 0.
 */
export function judgeRate(
  limiter: RateLimiter,
  response: Response,
  client: Client,
  node: number,
  zone: number,
): number {
  const { words, settings } = limiter;
  const kind = classOf(response);
  const subject = kind === POSITIVE || kind === REFERRAL ? node : kind === ERROR ? 0 : zone;
  let hash = mix(settings.seed, kind);
  let check = mix(~settings.seed, subject);
  const octets = client.length === 4 ? IPV4_OCTETS : IPV6_OCTETS;
  for (let i = 0; i < octets; i++) {
    const octet = client.source[client.at + i]!;
    hash = mix(hash, octet);
    check = mix(check, octet + 256);
  }
  hash = mix(hash, subject);
  check = mix(check, kind + client.length * 8) | 1;
  const bucket = TALLY_WORDS + (hash >>> 16) * BUCKET_WORDS;
  if (words[bucket + Bucket.check] !== check) {
    words[bucket + Bucket.check] = check;
    words[bucket + Bucket.second] = client.seconds | 0;
    words[bucket + Bucket.used] = 1;
    words[bucket + Bucket.over] = 0;
    return Verdict.send;
  }
  const used = spend(words, bucket, client.seconds | 0, settings.rate);
  if (used <= settings.rate || isExempt(settings.exempt, client)) return Verdict.send;
  return overLimit(words, bucket, settings.slip);
}

/** Counts one answer. The count falls by `rate` a second and never exceeds the answers of two seconds. */
function spend(words: Int32Array, bucket: number, seconds: number, rate: number): number {
  const elapsed = seconds - words[bucket + Bucket.second]!;
  let used = words[bucket + Bucket.used]!;
  if (elapsed !== 0) {
    words[bucket + Bucket.second] = seconds;
    used = elapsed > 0 && elapsed < 3 ? Math.max(0, used - elapsed * rate) : elapsed < 0 ? used : 0;
  }
  if (used < 2 * rate) used += 1;
  words[bucket + Bucket.used] = used;
  return used;
}

function overLimit(words: Int32Array<SharedArrayBuffer>, bucket: number, slip: number): number {
  const over = (words[bucket + Bucket.over]! + 1) | 0;
  words[bucket + Bucket.over] = over;
  if (slip > 0 && over % slip === 0) {
    Atomics.add(words, Tally.truncated, 1);
    return Verdict.truncate;
  }
  Atomics.add(words, Tally.dropped, 1);
  return Verdict.drop;
}

function classOf(response: Response): number {
  if (response.rcode === Rcode.nxDomain) return NX_DOMAIN;
  if (response.rcode !== Rcode.noError) return ERROR;
  if (response.cutNode !== 0) return REFERRAL;
  return response.answers !== 0 || response.truncated ? POSITIVE : NO_DATA;
}

function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function isExempt(networks: readonly ExemptNetwork[], client: Client): boolean {
  for (let i = 0; i < networks.length; i++) if (holds(networks[i]!, client)) return true;
  return false;
}

function holds({ address, bits }: ExemptNetwork, client: Client): boolean {
  if (address.length !== client.length) return false;
  const whole = bits >>> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== client.source[client.at + i]) return false;
  const rest = bits & 7;
  return rest === 0 || (address[whole]! ^ client.source[client.at + whole]!) >>> (8 - rest) === 0;
}
