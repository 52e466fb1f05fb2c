/**
 * Limits how often an account may purge (v4: §11): a bucket of tokens that fills steadily. It is kept in memory, because
 * a restart that fills it does no harm.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import { perStore, type Store } from '../../store/driver.js';
import { zoneFailure } from '../rules/zone-failures.js';

/** Those of the largest plan. */
const BUCKET = 500;
const PER_SECOND = 50;

interface Bucket {
  tokens: number;
  /** When `tokens` was counted, on a monotonic clock. */
  atMs: number;
}

/** By account. An account without an entry has a full bucket. */
const buckets = perStore(() => new Map<number, Bucket>());

/**
 * Takes a token, and returns the function that gives it back. Throws 429 with the time until the next one when there is none.
 */
export function takePurgeToken(store: Store, clock: Clock, account: number): () => void {
  const all = buckets(store);
  const nowMs = steadyMs(clock);
  const bucket = all.get(account) ?? { tokens: BUCKET, atMs: nowMs };
  const tokens = Math.min(BUCKET, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * PER_SECOND);
  if (tokens < 1) {
    const retryAfterSeconds = Math.ceil((1 - tokens) / PER_SECOND);
    throw zoneFailure('purgeTooOften', { most: PER_SECOND }, { retryAfterSeconds });
  }
  all.set(account, { tokens: tokens - 1, atMs: nowMs });
  return () => void all.get(account)!.tokens++;
}
