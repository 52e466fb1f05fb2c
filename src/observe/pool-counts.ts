/** Reads what answering threads counted by pool, and remembers the sums of the busiest pools for metrics. */
import { type ObservationBlock, POOL_SHIFT, POOLS, PoolPlace } from '../answer/observation.js';
import type { MetricSample } from '../base/metrics.js';

/** Answers from one pool: chosen by the steering, and as the fallback pool. */
export interface PoolGain {
  /** Its store number. */
  readonly number: number;
  readonly chosen: number;
  readonly fallback: number;
}

/** Gives what was counted since the last call. */
export function createPoolCountsReader(blocks: readonly ObservationBlock[]): () => PoolGain[] {
  const seen = blocks.map(() => new Float64Array(POOLS << POOL_SHIFT));
  return () => {
    const gained = new Map<number, PoolGain>();
    for (const [index, { pools }] of blocks.entries()) {
      for (let at = 0; at < pools.length; at += 1 << POOL_SHIFT) {
        const number = pools[at + PoolPlace.number]!;
        if (number === 0) continue;
        const now = Array.from(pools.subarray(at, at + (1 << POOL_SHIFT)));
        // It may pass from one pool to another meanwhile.
        if (pools[at + PoolPlace.number] !== number) continue;
        const before = seen[index]!.subarray(at, at + now.length);
        const isSame = before[PoolPlace.number] === number;
        // The same pool may have lost the place and got it again.
        const gain = (place: number): number =>
          isSame && before[place]! <= now[place]! ? now[place]! - before[place]! : now[place]!;
        const [chosen, fallback] = [gain(PoolPlace.chosen), gain(PoolPlace.fallback)];
        before.set(now);
        if (chosen + fallback > 0) gained.set(number, sum(gained.get(number), { number, chosen, fallback }));
      }
    }
    return [...gained.values()];
  };
}

function sum(one: PoolGain | undefined, { number, chosen, fallback }: PoolGain): PoolGain {
  return { number, chosen: (one?.chosen ?? 0) + chosen, fallback: (one?.fallback ?? 0) + fallback };
}

/** Pools that are remembered, and those whose series are printed. */
const MOST_POOLS = 1000;
const MOST_PRINTED = 100;
const ABOUT = {
  name: 'dns_pool_answers_total',
  type: 'counter',
  help: `Answers of load balancers, for the ${MOST_PRINTED} busiest pools, by how they came to their pool`,
} as const;

/** The pool of a store number; undefined if it does not exist any more. */
export type FindPool = (number: number) => { readonly id: string; readonly name: string } | undefined;

export interface PoolMetrics {
  add(gained: readonly PoolGain[]): void;
  samples(): MetricSample[];
}

export function createPoolMetrics(find: FindPool): PoolMetrics {
  const pools = new Map<number, PoolGain>();
  const busiest = (): PoolGain[] =>
    [...pools.values()].sort((a, b) => b.chosen + b.fallback - a.chosen - a.fallback || a.number - b.number);
  return {
    add(gained) {
      for (const gain of gained) pools.set(gain.number, sum(pools.get(gain.number), gain));
      if (pools.size <= MOST_POOLS) return;
      for (const { number } of busiest().slice((MOST_POOLS * 3) / 4)) pools.delete(number);
    },
    samples: () =>
      busiest()
        .slice(0, MOST_PRINTED)
        .flatMap(({ number, chosen, fallback }) => {
          const found = find(number);
          if (!found) {
            pools.delete(number);
            return [];
          }
          const labels = { pool: found.name, pool_id: found.id };
          return Object.entries({ chosen, fallback }).map(([way, value]) => {
            return { ...ABOUT, labels: { ...labels, way }, value };
          });
        }),
  };
}
