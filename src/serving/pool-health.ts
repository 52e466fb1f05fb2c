/** The health of a pool, from the store: the one rule for answers, the edge, events and the API. */
import { type CountedMonitor, type PoolHealth, poolHealth } from '../balancing/health/pool-health.js';
import { monitorGroupOf } from '../balancing/monitor.js';
import type { Pool } from '../balancing/pool.js';
import { toHex } from '../base/bytes.js';
import { findMonitorGroup, monitorsOfGroup } from '../store/balancing/monitor-groups.js';
import { originStatesOfPool } from '../store/balancing/origin-states.js';
import type { PoolRow } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';

type OfPool = Pick<PoolRow, 'seq' | 'monitor' | 'monitor_group'>;

/**
 * What is agreed about a pool; undefined if nothing probes it. `region`: of the node that asks; what its nodes agree on comes first if
 * the pool's owner wants that.
 */
export function healthOfPool(store: Store, row: OfPool, pool: Pool, region = ''): PoolHealth | undefined {
  const monitors = countedMonitors(store, row);
  if (monitors.length === 0) return undefined;
  const agreed = originStatesOfPool(store, row.seq).filter(({ node }) => node === '');
  const of = (code: string) =>
    agreed
      .filter((state) => state.region === code)
      .map(({ origin, monitor, healthy }) => ({ origin, monitor, healthy: healthy === 1 }));
  const isRegional = region !== '' && pool.healthSources?.includes('regional');
  // The later one of two counts.
  return poolHealth(pool, monitors, isRegional ? [...of(''), ...of(region)] : of(''));
}

/** The monitors that decide about a pool; none if nothing probes it. */
export function countedMonitors(store: Store, { monitor, monitor_group: group }: OfPool): readonly CountedMonitor[] {
  if (monitor !== null) return [{ seq: monitor, monitoringOnly: false, mustBeHealthy: false }];
  const row = group === null ? undefined : findMonitorGroup(store, group);
  if (!row) return [];
  const members = new Map(monitorGroupOf(row).members.map((member) => [member.monitor, member]));
  return monitorsOfGroup(store, row.seq).flatMap(({ seq, id }) => {
    const member = members.get(toHex(id));
    if (!member?.enabled) return [];
    return [{ seq, monitoringOnly: member.monitoringOnly, mustBeHealthy: member.mustBeHealthy }];
  });
}
