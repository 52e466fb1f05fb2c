/** Counts requests by pool. The number of pools with their own time series is bounded. */
import type { MetricSample } from '../../base/metrics.js';

/** Why a request went to its pool. */
export type Way = 'chosen' | 'session' | 'retry' | 'fallback';

export interface BalanceCounts {
  count(pool: { readonly id: string; readonly name: string }, way: Way): void;
  /** Counts a request for which no origin was left. */
  countNone(): void;
  /** `exists`: whether a pool (identifier) does; the series of others end. */
  samples(exists: (id: string) => boolean): MetricSample[];
}

const MOST_POOLS = 100;
const OTHERS = { id: 'others', name: 'others' };
const HELP = `Requests to load balancers, by pool for the first ${MOST_POOLS} pools, then together`;

export function createBalanceCounts(): BalanceCounts {
  const pools = new Map<string, { readonly name: string; readonly ways: Map<Way, number> }>();
  let none = 0;
  const placeOf = ({ id, name }: { readonly id: string; readonly name: string }) => {
    const known = pools.get(id);
    if (known) return known;
    const made = { name, ways: new Map<Way, number>() };
    pools.set(id, made);
    return made;
  };
  return {
    count(pool, way) {
      const isKnown = pools.has(pool.id) || pools.size < MOST_POOLS;
      const { ways } = placeOf(isKnown ? pool : OTHERS);
      ways.set(way, (ways.get(way) ?? 0) + 1);
    },
    countNone: () => void none++,
    samples(exists) {
      for (const id of pools.keys()) if (id !== OTHERS.id && !exists(id)) pools.delete(id);
      return [
        ...[...pools].flatMap(([id, { name, ways }]) =>
          [...ways].map(
            ([way, value]): MetricSample => ({
              ...{ name: 'edge_balanced_requests_total', type: 'counter', help: HELP },
              ...{ labels: { pool: name, pool_id: id, way }, value },
            }),
          ),
        ),
        {
          ...{ name: 'edge_unbalanced_requests_total', type: 'counter' },
          ...{ help: 'Requests to load balancers for which no origin was left', labels: {}, value: none },
        },
      ];
    },
  };
}
