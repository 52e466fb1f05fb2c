/** The health of a pool as its account sees it: by node, and by origin. */
import { poolHealth } from '../balancing/health/pool-health.js';
import { isPoolUp } from '../balancing/health/pool-state.js';
import { type Pool, poolOf } from '../balancing/pool.js';
import { toHex } from '../base/bytes.js';
import { countedMonitors } from '../serving/pool-health.js';
import { originStatesOfPool } from '../store/balancing/origin-states.js';
import type { PoolRow } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';
import type { LastResult } from './prober.js';

export interface OriginReport {
  readonly healthy: boolean;
  readonly failure_reason: string;
  readonly response_code: number;
  /** Such as `12.1ms`; empty if it is not known. */
  readonly rtt: string;
}

export interface PoolReport {
  readonly pool_id: string;
  readonly pop_health: Record<string, PopReport>;
}

interface PopReport {
  readonly healthy: boolean;
  /** By address. */
  readonly origins: Record<string, OriginReport>[];
}

/** What was found of one origin by one monitor. */
export interface Finding {
  readonly origin: string;
  /** Store number. */
  readonly monitor: number;
  readonly healthy: boolean;
  readonly reason: string;
  readonly responseCode: number | undefined;
  readonly rttMs: number | undefined;
}

/** `own`: what the node with that name, or the only one, has last found, which is newer than what is stored. */
export function reportOfPool(store: Store, row: PoolRow, own: readonly LastResult[], ownName: string): PoolReport {
  const pool = poolOf(row);
  const rows = originStatesOfPool(store, row.seq);
  const isCluster = rows.some(({ node }) => node !== '');
  const byNode = Map.groupBy(
    rows.filter(({ node, region }) => (isCluster ? node !== '' : region === '')),
    ({ node }) => node || ownName,
  );
  const newer = new Map(own.map((result) => [`${result.monitor} ${result.origin}`, result]));
  const pops = [...byNode].map(([name, states]) => {
    const found = states.map((state): Finding => {
      const last = name === ownName ? newer.get(`${state.monitor} ${state.origin}`) : undefined;
      const isSame = last !== undefined && last.healthy === (state.healthy === 1);
      return {
        ...{ origin: state.origin, monitor: state.monitor, healthy: state.healthy === 1 },
        reason: isSame && !last.healthy ? last.reason : state.failure_reason,
        responseCode: (isSame ? last.responseCode : undefined) ?? state.response_code ?? undefined,
        rttMs: isSame ? last.rttMs : state.rtt === null ? undefined : state.rtt / 1000,
      };
    });
    return [name, popReport(pool, countedMonitors(store, row), found)] as const;
  });
  return { pool_id: toHex(row.id), pop_health: Object.fromEntries(pops) };
}

export function popReport(
  pool: Pool,
  monitors: Parameters<typeof poolHealth>[1],
  found: readonly Finding[],
): PopReport {
  const health = poolHealth(pool, monitors, found);
  const byOrigin = Map.groupBy(found, ({ origin }) => origin);
  const origins = pool.origins
    .filter(({ enabled, name }) => enabled && byOrigin.has(name))
    .map(({ name, address }) => ({
      [address]: originReport(byOrigin.get(name)!, health?.origins.get(name) === 'healthy'),
    }));
  return { healthy: health !== undefined && isPoolUp(health.state, pool.minimumOrigins), origins };
}

/** Of several monitors, one that says what all say in the end. */
function originReport(found: readonly Finding[], healthy: boolean): OriginReport {
  const like = found.find((one) => one.healthy === healthy) ?? found[0]!;
  const times = found.flatMap(({ rttMs }) => rttMs ?? []);
  const mean = times.reduce((sum, ms) => sum + ms, 0) / times.length;
  return {
    healthy,
    failure_reason: healthy ? 'No failures' : like.reason,
    response_code: like.responseCode ?? 0,
    rtt: times.length === 0 ? '' : `${mean.toFixed(1)}ms`,
  };
}
