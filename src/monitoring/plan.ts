/** What is to be probed, as pools and monitors say it: one probe for each monitor, address, port and host, however many pools share it. */

import { type Monitor, monitorGroupOf, monitorOf } from '../balancing/monitor.js';
import { type Pool, poolOf } from '../balancing/pool.js';
import { toHex } from '../base/bytes.js';
import { findMonitorGroup, monitorsOfGroup } from '../store/balancing/monitor-groups.js';
import { findMonitor, type MonitorRow } from '../store/balancing/monitors.js';
import { type OriginStateRow, originStatesOfPool } from '../store/balancing/origin-states.js';
import { monitoredPools, type PoolRow } from '../store/balancing/pools.js';
import type { Store } from '../store/driver.js';
import type { Target } from './probes/probe.js';

/** An origin of a pool that a monitor probes, by what the store calls them. */
export interface Probed {
  readonly pool: number;
  readonly origin: string;
  readonly monitor: number;
}

/** What is stored about it, as this process would write it. */
export type StoredState = Pick<OriginStateRow, 'healthy' | 'failure_reason' | 'response_code' | 'rtt'>;

export interface PlannedProbe {
  /** Of the monitor, address, port and host. */
  readonly key: string;
  readonly target: Target;
  readonly monitor: Monitor;
  readonly users: readonly (Probed & { readonly stored: StoredState | undefined })[];
}

/** Who probes: its region, and under which name its results are stored; empty when they are all there are. */
export interface ProbingNode {
  readonly region: string;
  readonly node: string;
}

const POOLS_AT_ONCE = 500;

/** Everything that this node is to probe. All reads are from one snapshot. */
export function planProbes(store: Store, node: ProbingNode): ReadonlyMap<string, PlannedProbe> {
  return store.snapshot(() => {
    const probes = new Map<string, PlannedProbe & { readonly users: PlannedProbe['users'][number][] }>();
    const monitors = createMonitors(store);
    for (let after = 0, rows = monitoredPools(store, after, POOLS_AT_ONCE); rows.length > 0; ) {
      for (const row of rows) {
        for (const { probed, ...planned } of probesOfPool(store, row, node, monitors)) {
          const known = probes.get(planned.key);
          if (known) known.users.push(probed);
          else probes.set(planned.key, { ...planned, users: [probed] });
        }
      }
      after = rows.at(-1)!.seq;
      rows = monitoredPools(store, after, POOLS_AT_ONCE);
    }
    return probes;
  });
}

interface Known {
  readonly seq: number;
  readonly monitor: Monitor;
}

/** Many pools have the same monitor. */
function createMonitors(store: Store): (row: PoolRow) => readonly Known[] {
  const known = new Map<number, Known>();
  const read = (row: MonitorRow): Known => {
    const found = known.get(row.seq) ?? { seq: row.seq, monitor: monitorOf(row) };
    known.set(row.seq, found);
    return found;
  };
  return ({ monitor, monitor_group: group }) => {
    if (monitor !== null) return [known.get(monitor) ?? read(findMonitor(store, monitor)!)];
    const row = group === null ? undefined : findMonitorGroup(store, group);
    if (!row) return [];
    const enabled = new Set(monitorGroupOf(row).members.flatMap((member) => (member.enabled ? [member.monitor] : [])));
    return monitorsOfGroup(store, row.seq).flatMap((one) => (enabled.has(toHex(one.id)) ? [read(one)] : []));
  };
}

/** Whether a node is to probe a pool. One that has no region is asked to probe all. */
function isProbedFrom({ checkRegions }: Pool, region: string): boolean {
  return checkRegions === undefined || region === '' || checkRegions.some((code) => code === region);
}

function* probesOfPool(
  store: Store,
  row: PoolRow,
  { region, node }: ProbingNode,
  monitorsOf: (row: PoolRow) => readonly Known[],
) {
  const pool = poolOf(row);
  // A node that is alone probes everything.
  if (!pool.enabled || (node !== '' && !isProbedFrom(pool, region))) return;
  const stored = new Map(
    originStatesOfPool(store, row.seq)
      .filter((state) => state.node === node && (node === '' ? state.region === '' : true))
      .map((state) => [`${state.monitor} ${state.origin}`, state]),
  );
  for (const { seq, monitor } of monitorsOf(row)) {
    for (const origin of pool.origins) {
      if (!origin.enabled) continue;
      const target = targetOf(row.account, origin, monitor);
      yield {
        key: `${monitor.id} ${target.address} ${target.port} ${target.host ?? ''}`,
        target,
        monitor,
        probed: { pool: row.seq, origin: origin.name, monitor: seq, stored: stored.get(`${seq} ${origin.name}`) },
      };
    }
  }
}

/** Ports that a monitor has when its owner names none. */
const USUAL_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * The header of an origin goes before that of its monitor. Its port counts unless the monitor names another than the usual one of its
 * type.
 */
export function targetOf(
  account: number,
  origin: Pick<Pool['origins'][number], 'address' | 'port' | 'host'>,
  monitor: Monitor,
): Target {
  const header = Object.entries(monitor.header).find(([name]) => name.toLowerCase() === 'host');
  const isUsual = monitor.port === undefined || monitor.port === USUAL_PORTS[monitor.type];
  return {
    account,
    settings: monitor,
    address: origin.address,
    port: isUsual && origin.port !== 0 ? origin.port : (monitor.port ?? origin.port),
    host: origin.host ?? header?.[1][0],
  };
}
