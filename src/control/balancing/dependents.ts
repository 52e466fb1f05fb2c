/**
 * How changes of pools, and of groups of their monitors, come to the load balancers that use them. There may be 1,000 of them with
 * 1,000 origins each, all in signed zones, so only few are reached in the write that makes the change. All others go on to see the pool
 * as it was (store/balancing/earlier-pools.ts), until further writes come to them, a few each: what each zone serves, its signatures
 * and its change log fit together at any time.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import { betweenWrites } from '../../base/slices.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { countedMonitors } from '../../serving/pool-health.js';
import { signatureState } from '../../serving/zone-state.js';
import { findAccount, findAccountById } from '../../store/access/accounts.js';
import {
  endEarlierPools,
  hasEarlierPools,
  keepEarlierPool,
  nextToSeePools,
  showPoolsUpTo,
} from '../../store/balancing/earlier-pools.js';
import { type LoadBalancerRow, sizeOfBalancer, someLoadBalancersOfPool } from '../../store/balancing/load-balancers.js';
import type { PoolRow } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { findZone } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';

/** Finishes what a crash left. The subject is the identifier of an account. */
export const CHANGED_POOLS_JOB = 'changed_pools';

/** Milliseconds after a change at which it has come to all load balancers, unless there are very many. */
const LATER_MS = 30_000;

/**
 * What one write reaches, in microseconds of processor time: load balancers, with their pools and origins, which may be signed. It is no
 * more than the change log has in one change, the records of all origins before and afterwards.
 */
const MOST_COST = MOST_CHANGED_RRS;
const [OF_BALANCER, OF_POOL, OF_ORIGIN, OF_SIGNED_ORIGIN] = [100, 20, 2, 40];

/**
 * Call before pools change. `changes`: whether their settings do; otherwise it is their monitors. {@link reachBalancers} must follow
 * the write.
 */
export function noteBalancersOfPools(
  { store, clock }: Context,
  draft: Draft,
  pools: readonly PoolRow[],
  changes: 'settings' | 'monitors',
): void {
  const few = fewBalancersOf(store, pools);
  if (few) {
    for (const row of few) noteBalancer(draft, row);
    return;
  }
  for (const row of pools) {
    const settings = changes === 'settings' ? row.settings : undefined;
    keepEarlierPool(store, row.seq, settings, countedMonitors(store, row).length > 0);
  }
  const nowMs = clock.nowMs();
  const { id } = findAccount(store, pools[0]!.account)!;
  schedule(store, { kind: CHANGED_POOLS_JOB, subject: toHex(id), runAtMs: nowMs + LATER_MS }, nowMs);
}

/**
 * Brings changes of pools to all load balancers of the account (store number) that do not see them yet, in several writes. It does not
 * throw for a store that takes no writes now: the job comes later.
 */
export async function reachBalancers(ctx: Context, account: number): Promise<void> {
  if (ctx.dryRun || !hasEarlierPools(ctx.store, account)) return;
  // The change itself has happened, so nothing that the request depends on refuses it any more.
  const { precondition: _, readPoint: __, requireStill: ___, ...own } = ctx;
  try {
    while (await reachSome(own, account)) await betweenWrites();
  } catch (error) {
    ctx.log.error({ err: error }, 'a change of a pool comes to its load balancers later');
  }
}

export function changedPoolsJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease, signal }, subject) {
      const account = findAccountById(base.store, fromHex(subject)!)?.seq;
      const actor = { ...OPERATOR, superAdministrator: false, accountIds: [subject] };
      const ctx: Context = { ...base, actor, requestId: base.random.uuid(), source: 'service' };
      while (account !== undefined && !signal.aborted) {
        if (!(await reachSome(ctx, account, requireLease))) return { done: true };
        await betweenWrites();
      }
      return signal.aborted ? { againAtMs: base.clock.nowMs() } : { done: true };
    },
  };
}

/** Returns whether there may be more. */
async function reachSome(ctx: Context, account: number, requireStill = () => {}): Promise<boolean> {
  const { store } = ctx;
  const { value } = await commit(ctx, (draft) => {
    requireStill();
    const next = nextToSeePools(store, account, MOST_COST / OF_BALANCER);
    const rows = next.slice(0, Math.max(1, countWithin(store, next)));
    const last = rows.at(-1);
    if (!last) {
      endEarlierPools(store, account);
      return false;
    }
    for (const row of rows) noteBalancer(draft, row);
    showPoolsUpTo(store, account, last.seq);
    return true;
  });
  return value;
}

/** The load balancers of pools if one write can reach all of them. */
function fewBalancersOf(store: Store, pools: readonly PoolRow[]): readonly LoadBalancerRow[] | undefined {
  const rows = new Map<number, LoadBalancerRow>();
  for (const { seq } of pools) {
    const more = someLoadBalancersOfPool(store, seq, MOST_COST / OF_BALANCER + 1);
    for (const row of more) rows.set(row.seq, row);
    if (rows.size * OF_BALANCER > MOST_COST) return undefined;
  }
  const all = [...rows.values()];
  return countWithin(store, all) === all.length ? all : undefined;
}

/** How many of the first ones may share a write. */
function countWithin(store: Store, rows: readonly LoadBalancerRow[]): number {
  let cost = 0;
  const count = rows.findIndex(({ seq, zone }) => {
    const isSigned = signatureState(findZone(store, zone)!) !== 'none';
    const { pools, origins } = sizeOfBalancer(store, seq);
    cost += OF_BALANCER + pools * OF_POOL + origins * (isSigned ? OF_SIGNED_ORIGIN : OF_ORIGIN);
    return cost > MOST_COST;
  });
  return count < 0 ? rows.length : count;
}

function noteBalancer(draft: Draft, { zone, owner_key: ownerKey }: LoadBalancerRow): void {
  draft.noteBalancer(zone, new Uint8Array(ownerKey), false);
}
