/** A load balancer with a pool and a monitor of its own, made in one write. */
import type { Members } from '../../balancing/members.js';
import type { MonitorType } from '../../balancing/monitor.js';
import { toHex } from '../../base/bytes.js';
import { findAccount } from '../../store/access/accounts.js';
import { findPoolByName } from '../../store/balancing/pools.js';
import { requireZone } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { newId } from './access.js';
import type { BalancingItem } from './item.js';
import { draftLoadBalancer } from './load-balancers.js';
import { draftMonitor } from './monitors.js';
import { draftPool } from './pools.js';

export interface TogetherInput {
  /** Of the load balancer. */
  readonly name: string;
  /** Addresses, or host names. */
  readonly origins: readonly string[];
  /** How the origins are probed; undefined: they are not. */
  readonly monitor: MonitorType | undefined;
  /** Further members of each of them. */
  readonly ofMonitor?: Members;
  readonly ofBalancer?: Members;
}

export interface Together {
  readonly monitor: BalancingItem | undefined;
  readonly pool: BalancingItem;
  readonly balancer: BalancingItem;
}

/** Makes all of it or nothing. */
export async function createTogether(
  ctx: Context,
  zoneId: string,
  { name, origins, monitor: type, ofMonitor = {}, ofBalancer = {} }: TogetherInput,
): Promise<Together> {
  const ids = [newId(ctx), newId(ctx), newId(ctx)] as const;
  const { value } = await commit(ctx, (draft) => {
    const account = findAccount(ctx.store, requireZone(ctx, zoneId).account)!;
    const accountId = toHex(account.id);
    const monitor = type && draftMonitor(ctx, draft, accountId, ids[0], { type, description: name, ...ofMonitor });
    const pool = draftPool(ctx, draft, accountId, ids[1], {
      name: freeName(ctx, account.seq, name),
      origins: origins.map((address, i) => ({ name: `origin-${i + 1}`, address })),
      ...(monitor && { monitor: monitor.id }),
    });
    const pools = { default_pools: [pool.id], fallback_pool: pool.id };
    const balancer = draftLoadBalancer(ctx, draft, zoneId, ids[2], { name, ...pools, ...ofBalancer });
    return { monitor, pool, balancer };
  });
  return value;
}

const LONGEST_NAME = 63;

/** A name for a pool: that of the load balancer as far as it fits, and a number if it is taken. */
function freeName({ store }: Context, account: number, name: string): string {
  const plain = name.replace('*', 'wildcard').replace(/[^A-Za-z0-9_-]/g, '-');
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : `-${number}`;
    const candidate = `${plain.slice(0, LONGEST_NAME - end.length)}${end}`;
    if (!findPoolByName(store, account, candidate)) return candidate;
  }
}
