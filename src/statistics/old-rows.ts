/**
 * Removes rows that are too old, and those of a future that a wrong clock has seen, hardly faster than new ones come: while a clock is far
 * ahead or far behind, little is lost.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Store } from '../store/driver.js';
import { DAY, HOUR, KEPT, newestQueries, oldestQueries, removeQueries } from '../store/zones/queries.js';

/** Rows that are removed at once. */
const ROWS_AT_ONCE = 200;
/** Hours, and days, that may go in each of them, and at the start. */
const AT_A_TIME = 2;

interface Pace {
  allowed: number;
  /** Of {@link steadyMs}. */
  sinceMs: number;
  /** Whose rows are being removed. */
  begins: number | undefined;
}

/** Returns what removes some; call it inside a write. */
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
