/** Counters over time: the last quarter of an hour by the second, the last day by the minute. Bounded memory. */
import { COUNTS } from './counts.js';

/** Upper limits of the times that answers took, in microseconds. */
const TOOK_LIMITS_US: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000];
/** Counters, then how many sampled answers took how long: one place for each limit, and one for longer times. */
export const PLACES = COUNTS + TOOK_LIMITS_US.length + 1;

export type Period = '15m' | '24h';

/** Seconds of a step, and the number of steps. */
const STEPS: Readonly<Record<Period, readonly [seconds: number, count: number]>> = {
  '15m': [1, 900],
  '24h': [60, 1440],
};

export interface Step {
  /** Its beginning, seconds since 1970. */
  readonly at: number;
  readonly places: Float32Array;
}

export interface Series {
  add(atSeconds: number, places: readonly number[]): void;
  /** The steps in which anything was counted, the oldest first. */
  steps(period: Period, nowSeconds: number): Step[];
}

export function stepSeconds(period: Period): number {
  return STEPS[period][0];
}

export function stepCount(period: Period): number {
  return STEPS[period][1];
}

export function createSeries(): Series {
  const rings = { '15m': createRing(...STEPS['15m']), '24h': createRing(...STEPS['24h']) };
  return {
    add(atSeconds, places) {
      rings['15m'].add(atSeconds, places);
      rings['24h'].add(atSeconds, places);
    },
    steps: (period, nowSeconds) => rings[period].steps(nowSeconds),
  };
}

function createRing(seconds: number, count: number) {
  /** The step that each slot holds; 0: none. */
  const stamps = new Float64Array(count);
  const values = new Float32Array(count * PLACES);
  const slotOf = (step: number): Float32Array =>
    values.subarray((step % count) * PLACES, ((step % count) + 1) * PLACES);
  return {
    add(atSeconds: number, places: readonly number[]): void {
      const step = Math.floor(atSeconds / seconds);
      const slot = slotOf(step);
      if (stamps[step % count] !== step) {
        stamps[step % count] = step;
        slot.fill(0);
      }
      for (let place = 0; place < PLACES; place++) slot[place]! += places[place] ?? 0;
    },
    steps(nowSeconds: number): Step[] {
      const last = Math.floor(nowSeconds / seconds);
      const steps: Step[] = [];
      for (let step = Math.max(1, last - count + 1); step <= last; step++) {
        if (stamps[step % count] === step) steps.push({ at: step * seconds, places: slotOf(step).slice() });
      }
      return steps;
    },
  };
}

/** The place of a time in microseconds. */
export function tookPlace(tookUs: number): number {
  const line = TOOK_LIMITS_US.findIndex((limit) => tookUs <= limit);
  return COUNTS + (line < 0 ? TOOK_LIMITS_US.length : line);
}

/**
 * The time below which a share of the answers was made, in microseconds: the upper limit of its bucket; null: none was sampled.
 */
export function percentile(places: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let place = COUNTS; place < PLACES; place++) total += places[place]!;
  if (total === 0) return null;
  let sum = 0;
  for (const [line, limit] of TOOK_LIMITS_US.entries()) {
    sum += places[COUNTS + line]!;
    if (sum >= share * total) return limit;
  }
  return TOOK_LIMITS_US.at(-1)! * 2;
}
