/** Previews: what a monitor would find now, with other members than it has. Each probe runs once, and nothing is stored. */

import type { Members } from '../balancing/members.js';
import { type Monitor, monitorOfMembers } from '../balancing/monitor.js';
import { type Pool, poolOf } from '../balancing/pool.js';
import { toHex } from '../base/bytes.js';
import { type Clock, steadyMs } from '../base/clock.js';
import { hasShareFor } from '../base/turn-classes.js';
import type { PoolRow } from '../store/balancing/pools.js';
import { targetOf } from './plan.js';
import { type PoolReport, popReport } from './pool-report.js';
import type { Target } from './probes/probe.js';
import type { ProbeResult } from './probes/result.js';

export interface Preview {
  readonly previewId: string;
  /** Names of pools by their identifiers. */
  readonly pools: Readonly<Record<string, string>>;
}

export interface Previews {
  /** Begins; undefined: there are too many of this account. `id`: of the preview. */
  begin(id: string, account: number, pools: readonly PoolRow[], members: Members): Preview | undefined;
  /** By identifiers of pools; undefined for a preview that is not known. Pools without results have no nodes. */
  find(id: string, account: number): Record<string, PoolReport> | undefined;
}

export interface PreviewOptions {
  readonly clock: Clock;
  /** Probes once; undefined if nothing came. */
  readonly once: (targets: readonly Target[], waitMs: number) => Promise<readonly ProbeResult[] | undefined>;
  /** What the results are shown under. */
  readonly node: string;
}

/** How long one is kept, milliseconds. */
const KEPT_MS = 600_000;
const MOST_OF_ACCOUNT = 20;
const MOST = 1000;
/** Targets of one preview. */
const MOST_TARGETS = 1000;
const MARGIN_MS = 1000;
/** A preview has one monitor, whatever it is called. */
const MONITOR = { seq: 0, monitoringOnly: false, mustBeHealthy: false };

interface Kept {
  readonly account: number;
  readonly untilMs: number;
  readonly reports: Record<string, PoolReport>;
}

export function createPreviews({ clock, once, node }: PreviewOptions): Previews {
  const kept = new Map<string, Kept>();
  const forgetOld = (): void => {
    for (const [id, { untilMs }] of kept) if (untilMs <= steadyMs(clock)) kept.delete(id);
  };
  return {
    begin(previewId, account, rows, members) {
      forgetOld();
      const own = [...kept.values()].filter((one) => one.account === account).length;
      if (!hasShareFor(own, kept.size, { of: MOST_OF_ACCOUNT, inAll: MOST })) return undefined;
      const monitor = monitorOfMembers(previewId, members);
      const pools = rows.map(poolOf);
      const reports = Object.fromEntries(pools.map(({ id }) => [id, { pool_id: id, pop_health: {} }]));
      const entry: Kept = { account, untilMs: steadyMs(clock) + KEPT_MS, reports };
      kept.set(previewId, entry);
      void run({ account, monitor, pools, once, node }, entry);
      return { previewId, pools: Object.fromEntries(rows.map(({ id, name }) => [toHex(id), name])) };
    },
    find(id, account) {
      forgetOld();
      const found = kept.get(id);
      return found?.account === account ? found.reports : undefined;
    },
  };
}

interface Asked extends Pick<PreviewOptions, 'once' | 'node'> {
  readonly account: number;
  readonly monitor: Monitor;
  readonly pools: readonly Pool[];
}

async function run({ account, monitor, pools, once, node }: Asked, { reports }: Kept): Promise<void> {
  const asked = pools
    .flatMap((pool) => pool.origins.filter(({ enabled }) => enabled).map((origin) => ({ pool, origin })))
    .slice(0, MOST_TARGETS);
  const waitMs = monitor.timeout * 1000 * (monitor.retries + 1) + MARGIN_MS;
  const targets = asked.map(({ origin }) => targetOf(account, origin, monitor));
  const results = await once(targets, waitMs);
  if (!results) return;
  for (const pool of pools) {
    const found = asked.flatMap((one, i) => {
      const { pass: healthy, ...result } = results[i]!;
      return one.pool === pool ? [{ ...result, origin: one.origin.name, monitor: MONITOR.seq, healthy }] : [];
    });
    reports[pool.id] = { pool_id: pool.id, pop_health: { [node]: popReport(pool, [MONITOR], found) } };
  }
}
