/**
 * Removes rows that are too old, and rows of the future, which a wrong clock has left. It removes them hardly faster than new rows come, so
 * that little is lost while the clock is far ahead or far behind.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Store } from '../store/driver.js';
import { DAY, HOUR, KEPT, newestQueries, oldestQueries, removeQueries } from '../store/zones/queries.js';

/** Rows that are removed at once. */
const ROWS_AT_ONCE = 200;
/** Hours whose rows may be removed in each hour, days in each day, and both at the start. */
const AT_A_TIME = 2;

interface Pace {
  allowed: number;
  /** Of {@link steadyMs}. */
  sinceMs: number;
  /** The beginning of the hour or day whose rows are being removed. */
  begins: number | undefined;
}

/** Returns a function that removes some rows; call it inside a write. */
export function createOldRows(clock: Clock): (store: Store) => void {
  const paces = [HOUR, DAY].flatMap((span) =>
    (['old', 'future'] as const).map((which) => {
      const pace: Pace = { allowed: AT_A_TIME, sinceMs: steadyMs(clock), begins: undefined };
      return { span, which, pace };
    }),
  );
  const findBegins = (store: Store, span: number, which: 'old' | 'future'): number | undefined => {
    const now = Math.floor(clock.nowMs() / 1000);
    const found = which === 'old' ? oldestQueries(store, span) : newestQueries(store, span);
    if (found === undefined) return undefined;
    return (which === 'old' ? found < now - KEPT[span]! : found > now + DAY) ? found : undefined;
  };
  return (store) => {
    for (const { span, which, pace } of paces) {
      earn(pace, span * 1000, steadyMs(clock));
      const begins = findBegins(store, span, which);
      if (begins === undefined) continue;
      if (begins !== pace.begins) {
        if (pace.allowed === 0) continue;
        pace.allowed -= 1;
        pace.begins = begins;
      }
      removeQueries(store, span, begins, ROWS_AT_ONCE);
    }
  };
}

function earn(pace: Pace, spanMs: number, nowMs: number): void {
  const passed = Math.floor((nowMs - pace.sinceMs) / spanMs);
  pace.allowed = Math.min(AT_A_TIME, pace.allowed + passed * AT_A_TIME);
  pace.sinceMs += passed * spanMs;
}
