/** What DNS and the edge read of the health of origins. */
import { poolOf } from '../balancing/pool.js';
import { toHex } from '../base/bytes.js';
import { healthEventsAfter, lastHealthEvent } from '../store/balancing/health-events.js';
import { countLoadBalancersOfPool } from '../store/balancing/load-balancers.js';
import { type OriginStateRow, originStatesOfPool } from '../store/balancing/origin-states.js';
import { findPool, findPoolById } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';
import { createOwnHealth } from './own-health.js';
import { healthOfPool } from './pool-health.js';

export interface PoolStates {
  /** Names of its origins, as it is now. */
  readonly origins: ReadonlySet<string>;
  /** Names of healthy origins. */
  readonly healthy: ReadonlySet<string>;
  /** Mean of the round trips to them, from the region of this node if it is known; microseconds; 0: not known. */
  readonly roundTripUs: number;
}

export interface Transitions {
  /** Number of the last one. */
  readonly last: number;
  /** Store numbers of their pools, each once. */
  readonly pools: readonly number[];
  readonly isMore: boolean;
}

export interface HealthSource {
  /** `pool`: store number. */
  ofPool(pool: number): PoolStates;
  /** Whether a load balancer refers to it. */
  isUsed(pool: number): boolean;
  /** Transitions after a number, no more than `limit`. */
  after(sequence: number, limit: number): Transitions;
  /** Number of the newest transition; 0 when there is none. */
  last(): number;
  /** Changes when there may be new transitions that are not stored. */
  version(): number;
}

const VERSIONS = 4096;

/** Combines the version of the database with that of health that is not stored. */
export function versionWith(dataVersion: number, health: Pick<HealthSource, 'version'>): number {
  return dataVersion * VERSIONS + (health.version() % VERSIONS);
}

export const NO_HEALTH: HealthSource = {
  ofPool: () => ({ origins: new Set(), healthy: new Set(), roundTripUs: 0 }),
  isUsed: () => true,
  after: (last) => ({ last, pools: [], isMore: false }),
  last: () => 0,
  version: () => 0,
};

/** `region`: code of that of this node; empty: none. */
export function createHealthSource(store: Store, region = ''): HealthSource {
  const own = createOwnHealth(store);
  return {
    ofPool(seq) {
      const row = findPool(store, seq);
      const pool = row && poolOf(row);
      const origins = new Set(pool?.origins.map(({ name }) => name));
      const health = row && pool && healthOfPool(store, row, pool, region);
      if (!health) return { origins, healthy: new Set(), roundTripUs: 0 };
      const found = [...health.origins].filter(([, state]) => state === 'healthy');
      return {
        origins,
        healthy: own.ofPool(seq) ?? new Set(found.map(([name]) => name)),
        roundTripUs: roundTripUs(originStatesOfPool(store, seq), region),
      };
    },
    isUsed: (seq) => countLoadBalancersOfPool(store, seq) > 0,
    after(sequence, limit) {
      const events = healthEventsAfter(store, sequence, limit);
      const ids = new Map(events.map(({ pool }) => [toHex(pool), pool]));
      return {
        last: events.at(-1)?.seq ?? sequence,
        pools: [
          ...new Set([...[...ids.values()].flatMap((id) => findPoolById(store, id)?.seq ?? []), ...own.changed()]),
        ],
        isMore: events.length === limit,
      };
    },
    last: () => lastHealthEvent(store),
    version: () => own.version(),
  };
}

/** From the nodes of the region, or otherwise what all nodes have measured. */
function roundTripUs(states: readonly OriginStateRow[], region: string): number {
  const timesOf = (rows: readonly OriginStateRow[]): number[] =>
    rows.flatMap(({ healthy, rtt }) => (healthy === 1 && rtt ? [rtt] : []));
  const near = timesOf(states.filter((state) => state.node !== '' && state.region === region));
  const times = near.length > 0 ? near : timesOf(states.filter((state) => state.node === '' && state.region === ''));
  return times.length === 0 ? 0 : Math.round(times.reduce((total, time) => total + time, 0) / times.length);
}
