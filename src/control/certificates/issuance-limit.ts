/**
 * Limits how many certificates an account may request (edge specification §4.1): a number in a sliding window. A
 * request above it begins a lockout, after which counting starts again. Refused requests neither count nor prolong the
 * lockout.
 */
import { AppError } from '../../base/errors.js';
import type { Store } from '../../store/driver.js';
import {
  addIssuance,
  clearLockout,
  countIssuances,
  findAllowance,
  lockoutEnd,
  putLockout,
} from '../../store/hostnames/issuance.js';

export interface IssuanceLimit {
  readonly count: number;
  readonly windowSeconds: number;
  readonly lockoutSeconds: number;
}

/** 429: the account requested too many certificates (edge specification §4.1). */
export class IssuanceRefused extends AppError {
  constructor(
    readonly limit: IssuanceLimit,
    /** When the lockout ends, milliseconds since 1970, and the whole seconds from now until then. */
    readonly untilMs: number,
    retryAfterSeconds: number,
  ) {
    const every = limit.windowSeconds === 60 ? 'minute' : `${limit.windowSeconds} seconds`;
    super(
      'hostnames.issuance',
      429,
      971,
      `Please wait and consider throttling your request speed. You may issue up to ${limit.count} certificates per ${every}; no new certificates for ${limit.lockoutSeconds} seconds.`,
      { retryAfterSeconds },
    );
  }
}

const DEFAULT_LIMIT: IssuanceLimit = { count: 15, windowSeconds: 60, lockoutSeconds: 30 };

/** The limit of the account: its own or the general one. */
function issuanceLimitOf(store: Store, account: number): IssuanceLimit {
  const allowance = findAllowance(store, account);
  return {
    count: allowance?.issuance_count ?? DEFAULT_LIMIT.count,
    windowSeconds: allowance?.issuance_window_s ?? DEFAULT_LIMIT.windowSeconds,
    lockoutSeconds: allowance?.issuance_lockout_s ?? DEFAULT_LIMIT.lockoutSeconds,
  };
}

/** The refusal for an account that is locked out. */
export function lockedOut(store: Store, account: number, nowMs: number): IssuanceRefused | undefined {
  const until = lockoutEnd(store, account);
  return until !== undefined && isAhead(store, account, until, nowMs)
    ? refusal(store, account, until, nowMs)
    : undefined;
}

/** A lockout that seems longer than any was begun before the clock was set back, and is over. */
function isAhead(store: Store, account: number, untilMs: number, nowMs: number): boolean {
  return untilMs > nowMs && untilMs - nowMs <= issuanceLimitOf(store, account).lockoutSeconds * 1000;
}

/**
 * Counts a request that will be granted. Above the limit it returns the refusal; the lockout is then written and must
 * be committed. Call inside a write.
 */
export function countIssuance(store: Store, account: number, nowMs: number): IssuanceRefused | undefined {
  const { count, windowSeconds, lockoutSeconds } = issuanceLimitOf(store, account);
  const until = lockoutEnd(store, account);
  if (until !== undefined && isAhead(store, account, until, nowMs)) return refusal(store, account, until, nowMs);
  if (until !== undefined) clearLockout(store, account);
  const windowStartMs = nowMs - windowSeconds * 1000;
  if (countIssuances(store, account, windowStartMs, nowMs) < count) {
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

/**
 * Edits are granted during a lockout, but an order that they need waits for its end: this time, milliseconds since
 * 1970.
 */
export function orderTimeMs(store: Store, account: number, nowMs: number): number {
  return lockedOut(store, account, nowMs)?.untilMs ?? nowMs;
}
