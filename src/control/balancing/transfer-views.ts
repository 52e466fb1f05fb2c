/**
 * Which origins transfers have where they follow the health of origins. That is kept beside the settings of a load balancer and set
 * anew from time to time, so that health which changes quickly does not make a version of the zone each time.
 */
import type { TransferView } from '../../balancing/load-balancer.js';
import type { Members } from '../../balancing/members.js';
import { poolOf } from '../../balancing/pool.js';
import { betweenWrites, nextSlice } from '../../base/slices.js';
import { healthOfPool } from '../../serving/pool-health.js';
import {
  balancersWithTransferHealth,
  findLoadBalancer,
  type LoadBalancerRow,
  setBalancerSettings,
} from '../../store/balancing/load-balancers.js';
import { type PoolRow, poolsOfBalancer } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { membersOfRow } from './access.js';

/** What transfers have of a pool: its identifier, and the names of its healthy origins; undefined if nothing probes it. */
type PoolView = readonly [id: string, healthy: readonly string[]] | undefined;
/** By the store numbers of pools. */
type PoolViews = Map<number, PoolView>;

/** The settings of a load balancer with its present view, if it wants one. `known`: views that were made already; more are added. */
export function withTransferView(
  store: Store,
  { transfer_view: _, ...members }: Members,
  pools: readonly PoolRow[],
  known: PoolViews = new Map(),
): Members {
  return members.transfer_health === true ? { ...members, transfer_view: viewOf(store, pools, known) } : members;
}

function viewOf(store: Store, pools: readonly PoolRow[], known: PoolViews): TransferView {
  const views = pools.flatMap((row) => {
    if (!known.has(row.seq)) known.set(row.seq, viewOfPool(store, row));
    const view = known.get(row.seq);
    return view ? [view] : [];
  });
  return Object.fromEntries(views.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function viewOfPool(store: Store, row: PoolRow): PoolView {
  const pool = poolOf(row);
  const health = healthOfPool(store, row, pool);
  return health && [pool.id, [...health.origins].flatMap(([name, state]) => (state === 'healthy' ? [name] : []))];
}

/**
 * Gives transfers what is known of health now. Zones get a newer version only where that changes their records. A zone that cannot be
 * edited does not stop the others: all are tried, then it throws.
 */
export async function refreshTransferViews(base: ContextBase): Promise<void> {
  const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
  const { store } = base;
  // Many may have the same pools; each pool is read only once.
  const known: PoolViews = new Map();
  const failures: unknown[] = [];
  for (const { seq } of balancersWithTransferHealth(store)) {
    await nextSlice();
    if (newSettings(store, findLoadBalancer(store, seq), known) === undefined) continue;
    await refresh(ctx, seq).catch((error: unknown) => failures.push(error));
    await betweenWrites();
  }
  if (failures.length > 0) throw failures[0];
}

async function refresh(ctx: Context, seq: number): Promise<void> {
  const { store } = ctx;
  await commit(ctx, (draft) => {
    const row = findLoadBalancer(store, seq);
    const settings = newSettings(store, row);
    if (!row || settings === undefined) return;
    draft.noteBalancer(row.zone, new Uint8Array(row.owner_key), false);
    setBalancerSettings(store, seq, settings);
  });
}

/** Undefined if they are as they should be. */
function newSettings(store: Store, row: LoadBalancerRow | undefined, known?: PoolViews): string | undefined {
  if (!row) return undefined;
  const settings = JSON.stringify(withTransferView(store, membersOfRow(row), poolsOfBalancer(store, row.seq), known));
  return settings === row.settings ? undefined : settings;
}
