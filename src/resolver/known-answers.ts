/** Answers from outside that are still good: bounded in number, size and time (RFC 2308 §5, RFC 9520 §3.2). */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import type { UpstreamAnswer } from './answer.js';
import type { UpstreamType } from './types.js';

export interface KnownLimits {
  /** Answers kept at most. */
  readonly entries: number;
  /** Octets of the answers kept, about. */
  readonly octets: number;
  /** Seconds a positive answer and a negative one are kept at most. */
  readonly positiveSeconds: number;
  readonly negativeSeconds: number;
  /** Seconds a failure is kept, doubled with each further one up to `mostFailureSeconds`. */
  readonly failureSeconds: number;
  readonly mostFailureSeconds: number;
}

/** What was asked outside, and when. */
export interface KnownAnswer {
  readonly answer: UpstreamAnswer;
  readonly atMs: number;
  readonly expiresMs: number;
  /** Failures in a row, this one included. */
  readonly failures: number;
}

export interface KnownAnswers {
  find(key: string): KnownAnswer | undefined;
  /** Remembers an answer as long as it may be, and returns it as it would be found. */
  note(key: string, answer: UpstreamAnswer): KnownAnswer;
  readonly size: number;
}

export function keyOf(name: string, type: UpstreamType): string {
  return `${type} ${name}`;
}

/** Of an entry beside its texts. */
const OVERHEAD_OCTETS = 200;
/** Larger answers are not worth their room. */
const LARGEST_OCTETS = 16 << 10;

export function createKnownAnswers(clock: Clock, random: Random, limits: KnownLimits): KnownAnswers {
  /** Of what has expired, too: it tells how often a name has failed in a row. */
  const entries = new LRUCache<string, KnownAnswer>({
    max: limits.entries,
    maxSize: limits.octets,
    maxEntrySize: LARGEST_OCTETS,
    sizeCalculation: ({ answer }, key) => sizeOf(key, answer),
  });

  function isFailure({ status }: UpstreamAnswer): boolean {
    return status === 'servfail' || status === 'timeout';
  }

  function secondsFor(answer: UpstreamAnswer, failures: number): number {
    const { positiveSeconds, negativeSeconds, failureSeconds, mostFailureSeconds } = limits;
    if (isFailure(answer)) {
      const seconds = Math.min(mostFailureSeconds, failureSeconds * 2 ** (failures - 1));
      // Jitter of a quarter, so that names that failed together are not asked for together.
      return seconds * (1 - random.bytes(1)[0]! / 1024);
    }
    const least = Math.min(...answer.records.map(({ ttl }) => ttl));
    if (answer.status === 'ok') return Math.min(positiveSeconds, least);
    // Without an SOA nobody said how long (RFC 2308 §5).
    return Math.min(negativeSeconds, answer.negativeTtl ?? failureSeconds, least);
  }

  return {
    find(key) {
      const entry = entries.get(key);
      return entry !== undefined && entry.expiresMs > clock.nowMs() ? entry : undefined;
    },
    note(key, answer) {
      const before = entries.peek(key);
      const failures = isFailure(answer) ? Math.min(20, (before?.failures ?? 0) + 1) : 0;
      const atMs = clock.nowMs();
      const expiresMs = atMs + secondsFor(answer, failures) * 1000;
      const entry = { answer, atMs, expiresMs, failures };
      if (expiresMs > atMs) entries.set(key, entry);
      else entries.delete(key);
      return entry;
    },
    get size() {
      return entries.size;
    },
  };
}

function sizeOf(key: string, { records, referral, reason = '' }: UpstreamAnswer): number {
  let octets = OVERHEAD_OCTETS + 2 * (key.length + reason.length);
  for (const { name, content } of [...records, ...referral])
    octets += OVERHEAD_OCTETS + 2 * (name.length + content.length);
  return octets;
}
