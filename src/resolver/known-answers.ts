/** Cache of answers from outside resolvers, limited in number, size and time (RFC 2308 §5, RFC 9520 §3.2). */
import { type Clock, steadyMs } from '../base/clock.js';
import { FairCache } from '../base/lists/fair-cache.js';
import type { Random } from '../base/random.js';
import type { UpstreamAnswer } from './answer.js';
import type { UpstreamType } from './types.js';

export interface KnownLimits {
  /** The largest number of cached answers. */
  readonly entries: number;
  /** The approximate size limit of the cache, in octets. */
  readonly octets: number;
  /** The longest time that a positive and a negative answer are cached, in seconds. */
  readonly positiveSeconds: number;
  readonly negativeSeconds: number;
  /** Seconds that a failure is cached, doubled with each further failure up to `mostFailureSeconds`. */
  readonly failureSeconds: number;
  readonly mostFailureSeconds: number;
}

/** A cached answer. */
export interface KnownAnswer {
  readonly answer: UpstreamAnswer;
  /** See {@link KnownAnswers.nowMs}. */
  readonly atMs: number;
  readonly expiresMs: number;
  /** Consecutive failures, including this one. */
  readonly failures: number;
  /** With a failure: the last answer with records before it. */
  readonly last?: KnownAnswer;
}

export interface KnownAnswers {
  /** Whole milliseconds of a clock that is never set back, so that no answer is kept longer than it may be. */
  nowMs(): number;
  find(key: string): KnownAnswer | undefined;
  /** The last answer with records, until {@link OLDEST_MS} after its time has ended (RFC 8767). */
  findOld(key: string): KnownAnswer | undefined;
  /** Whether the name is to be asked: no answer is known, not even a failure. */
  isDue(key: string): boolean;
  /**
   * Caches an answer for as long as its TTLs and the limits allow, and returns the cache entry. It is known for all, but counts as that of
   * the account (store number) for which it was asked.
   */
  note(account: number, key: string, answer: UpstreamAnswer): KnownAnswer;
  readonly size: number;
}

export function keyOf(name: string, type: UpstreamType): string {
  return `${type} ${name}`;
}

/** How long an answer may be used beyond its time, milliseconds. */
const OLDEST_MS = 3_600_000;

/** Estimated size of an entry without its strings. */
const OVERHEAD_OCTETS = 200;
/** Larger answers are not cached. */
const LARGEST_OCTETS = 16 << 10;

export function createKnownAnswers(clock: Clock, random: Random, limits: KnownLimits): KnownAnswers {
  /** Each counts as so many octets at least: so there are never more than there may be. */
  const leastOctets = Math.floor(limits.octets / limits.entries);
  /** Expired entries stay, because they count the consecutive failures of a name. */
  const entries = new FairCache<number, string, KnownAnswer>(leastOctets * limits.entries);

  function isFailure({ status }: UpstreamAnswer): boolean {
    return status === 'servfail' || status === 'timeout';
  }

  function secondsFor(answer: UpstreamAnswer, failures: number): number {
    const { positiveSeconds, negativeSeconds, failureSeconds, mostFailureSeconds } = limits;
    if (isFailure(answer)) {
      const seconds = Math.min(mostFailureSeconds, failureSeconds * 2 ** (failures - 1));
      // A jitter of a quarter, so that names that failed together are not asked again together.
      return seconds * (1 - random.bytes(1)[0]! / 1024);
    }
    const least = Math.min(...answer.records.map(({ ttl }) => ttl));
    if (answer.status === 'ok') return Math.min(positiveSeconds, least);
    // Without an SOA record, the answer does not say how long it may be cached (RFC 2308 §5).
    return Math.min(negativeSeconds, answer.negativeTtl ?? failureSeconds, least);
  }

  const nowMs = (): number => Math.floor(steadyMs(clock));

  const find = (key: string): KnownAnswer | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.expiresMs > nowMs() ? entry : undefined;
  };

  return {
    nowMs,
    find,
    findOld(key) {
      const entry = entries.get(key);
      const last = entry?.answer.status === 'ok' ? entry : entry?.last;
      return last && nowMs() < last.expiresMs + OLDEST_MS ? last : undefined;
    },
    isDue: (key) => find(key) === undefined,
    note(account, key, answer) {
      const before = entries.peek(key);
      const failures = isFailure(answer) ? Math.min(20, (before?.failures ?? 0) + 1) : 0;
      const atMs = nowMs();
      const expiresMs = atMs + secondsFor(answer, failures) * 1000;
      const last = before?.answer.status === 'ok' ? before : before?.last;
      const entry = { answer, atMs, expiresMs, failures, ...(failures > 0 && last && { last }) };
      const octets = sizeOf(key, answer) + (entry.last ? sizeOf(key, entry.last.answer) : 0);
      if (expiresMs > atMs && octets <= LARGEST_OCTETS) entries.set(account, key, entry, Math.max(octets, leastOctets));
      else entries.delete(key);
      return entry;
    },
    get size() {
      return entries.count;
    },
  };
}

function sizeOf(key: string, { records, referral, reason = '' }: UpstreamAnswer): number {
  let octets = OVERHEAD_OCTETS + 2 * (key.length + reason.length);
  for (const { name, content } of [...records, ...referral])
    octets += OVERHEAD_OCTETS + 2 * (name.length + content.length);
  return octets;
}
