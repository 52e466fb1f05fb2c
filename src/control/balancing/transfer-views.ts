/**
 * Which origins transfers have where they follow the health of origins. That is kept beside the settings of a load balancer and set
 * anew from time to time, so that health which changes quickly does not make a version of the zone each time.
 */
import type { TransferView } from '../../balancing/load-balancer.js';
import type { Members } from '../../balancing/members.js';
import { poolOf } from '../../balancing/pool.js';
import { betweenWrites } from '../../base/slices.js';
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

/** The settings of a load balancer with its present view, if it wants one. */
export function withTransferView(
  store: Store,
  { transfer_view: _, ...members }: Members,
  pools: readonly PoolRow[],
): Members {
  return members.transfer_health === true ? { ...members, transfer_view: viewOf(store, pools) } : members;
}

function viewOf(store: Store, pools: readonly PoolRow[]): TransferView {
  const views = pools.flatMap((row) => {
    const pool = poolOf(row);
    const health = healthOfPool(store, row, pool);
    if (!health) return [];
    return [[pool.id, [...health.origins].flatMap(([name, state]) => (state === 'healthy' ? [name] : []))] as const];
  });
  return Object.fromEntries(views.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Gives transfers what is known of health now. Zones get a newer version only where that changes their records. */
export async function refreshTransferViews(base: ContextBase): Promise<void> {
  const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
  const { store } = base;
  for (const { seq } of balancersWithTransferHealth(store)) {
    if (newSettings(store, findLoadBalancer(store, seq)) === undefined) continue;
    await commit(ctx, (draft) => {
      const row = findLoadBalancer(store, seq);
      const settings = newSettings(store, row);
      if (!row || settings === undefined) return;
      draft.noteBalancer(row.zone, new Uint8Array(row.owner_key), false);
      setBalancerSettings(store, seq, settings);
    });
    await betweenWrites();
  }
}

/** Undefined if they are as they should be. */
function newSettings(store: Store, row: LoadBalancerRow | undefined): string | undefined {
  if (!row) return undefined;
  const settings = JSON.stringify(withTransferView(store, membersOfRow(row), poolsOfBalancer(store, row.seq)));
  return settings === row.settings ? undefined : settings;
}
