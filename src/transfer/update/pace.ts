/** Limits how often something may happen, for each of many names. */
import { type Clock, steadyMs } from '../../base/clock.js';

export interface Pace {
  /** Takes one of the times that the name has left; false when there is none. */
  take(name: string): boolean;
  /** Whether it has any left. */
  has(name: string): boolean;
  /** Gives one back that was taken for nothing. */
  giveBack(name: string): void;
}

/** Names that are remembered; with more, the oldest begins anew. */
const MOST_NAMES = 10_000;

/** `perSecond` in the long run, and up to `burst` at once. */
export function createPace(perSecond: number, burst: number, clock: Clock): Pace {
  const known = new Map<string, { left: number; atMs: number }>();
  const leftOf = (name: string, nowMs: number): number => {
    const { left, atMs } = known.get(name) ?? { left: burst, atMs: nowMs };
    return Math.min(burst, left + ((nowMs - atMs) / 1000) * perSecond);
  };
  return {
    has: (name) => leftOf(name, steadyMs(clock)) >= 1,
    take(name) {
      const nowMs = steadyMs(clock);
      const now = leftOf(name, nowMs);
      known.delete(name);
      known.set(name, { left: now >= 1 ? now - 1 : now, atMs: nowMs });
      if (known.size > MOST_NAMES) known.delete(known.keys().next().value!);
      return now >= 1;
    },
    giveBack(name) {
      const entry = known.get(name);
      if (entry) entry.left = Math.min(burst, entry.left + 1);
    },
  };
}
