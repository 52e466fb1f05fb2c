/**
 * How many certificates an account may ask for (edge specification §4.1): so many in a sliding window; who asks for one more gets
 * none for a while, and then begins anew. What is refused neither counts nor prolongs anything.
 */
import type { Store } from '../store/driver.js';
import {
  addIssuance,
  clearLockout,
  countIssuances,
  findAllowance,
  lockoutEnd,
  putLockout,
} from '../store/hostnames/issuance.js';
import { IssuanceRefused } from './errors.js';

export interface IssuanceLimit {
  readonly count: number;
  readonly windowSeconds: number;
  readonly lockoutSeconds: number;
}

const DEFAULT_LIMIT: IssuanceLimit = { count: 15, windowSeconds: 60, lockoutSeconds: 30 };

/** What the account may, by its own allowance or like all. */
function issuanceLimitOf(store: Store, account: number): IssuanceLimit {
  const allowance = findAllowance(store, account);
  return {
    count: allowance?.issuance_count ?? DEFAULT_LIMIT.count,
    windowSeconds: allowance?.issuance_window_s ?? DEFAULT_LIMIT.windowSeconds,
    lockoutSeconds: allowance?.issuance_lockout_s ?? DEFAULT_LIMIT.lockoutSeconds,
  };
}

/** The refusal of an account that is locked out now. */
export function lockedOut(store: Store, account: number, nowMs: number): IssuanceRefused | undefined {
  const until = lockoutEnd(store, account);
  return until !== undefined && until > nowMs ? refusal(store, account, until, nowMs) : undefined;
}

/**
 * Counts a request that is about to be granted. Returns the refusal, when there are too many: the lockout it begins is then
 * written and must stay. Call inside a write.
 */
export function countIssuance(store: Store, account: number, nowMs: number): IssuanceRefused | undefined {
  const { count, windowSeconds, lockoutSeconds } = issuanceLimitOf(store, account);
  const until = lockoutEnd(store, account);
  if (until !== undefined && until > nowMs) return refusal(store, account, until, nowMs);
  if (until !== undefined) clearLockout(store, account);
  const windowStartMs = nowMs - windowSeconds * 1000;
  if (countIssuances(store, account, windowStartMs) < count) {
    addIssuance(store, account, nowMs, windowStartMs);
    return undefined;
  }
  const endMs = nowMs + lockoutSeconds * 1000;
  putLockout(store, account, endMs);
  return refusal(store, account, endMs, nowMs);
}

function refusal(store: Store, account: number, untilMs: number, nowMs: number): IssuanceRefused {
  const seconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1000));
  return new IssuanceRefused(issuanceLimitOf(store, account), untilMs, seconds);
}
