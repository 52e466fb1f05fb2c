/** What is known of a pool, put together: the states of its origins from what its monitors found, and its own. Pure. */
import type { Pool } from '../pool.js';
import { type OriginState, stateOfGroup } from './origin-state.js';
import { type PoolState, poolState } from './pool-state.js';

/** A monitor of a pool, and what its results count: alone, or in its group. */
export interface CountedMonitor {
  /** Store number. */
  readonly seq: number;
  readonly monitoringOnly: boolean;
  readonly mustBeHealthy: boolean;
}

/** What a monitor found of an origin. */
export interface FoundState {
  readonly origin: string;
  /** Store number. */
  readonly monitor: number;
  readonly healthy: boolean;
}

export interface PoolHealth {
  /** Of the enabled origins, by name. */
  readonly origins: ReadonlyMap<string, OriginState>;
  readonly state: PoolState;
}

/** Undefined: nothing probes the pool, so health is not a criterion. */
export function poolHealth(
  pool: Pick<Pool, 'origins' | 'minimumOrigins'>,
  monitors: readonly CountedMonitor[],
  found: readonly FoundState[],
): PoolHealth | undefined {
  if (monitors.length === 0) return undefined;
  const byKey = new Map(found.map(({ origin, monitor, healthy }) => [`${monitor} ${origin}`, healthy]));
  const stateOf = (origin: string, monitor: number): OriginState => {
    const healthy = byKey.get(`${monitor} ${origin}`);
    return healthy === undefined ? 'unknown' : healthy ? 'healthy' : 'unhealthy';
  };
  const origins = new Map(
    pool.origins
      .filter(({ enabled }) => enabled)
      .map(({ name }): [string, OriginState] => [
        name,
        stateOfGroup(monitors.map(({ seq, ...counted }) => ({ ...counted, state: stateOf(name, seq) }))),
      ]),
  );
  return { origins, state: poolState([...origins.values()], pool.minimumOrigins) };
}
