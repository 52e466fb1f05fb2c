/**
 * How changes of pools, and of groups of their monitors, come to the load balancers that use them. There may be 1,000 of them with
 * 1,000 origins each, all in signed zones, so only few are reached in the write that makes the change. All others go on to see the pool
 * as it was (store/balancing/earlier-pools.ts), until further writes come to them, a few each: what each zone serves, its signatures
 * and its change log fit together at any time. One that cannot be written, because the keys of its zone do not open, is held: it goes on
 * to see the pools as they were, is tried again later, and keeps no other one waiting.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import { AppError, messageOf } from '../../base/errors.js';
import { betweenWrites } from '../../base/slices.js';
import { backoffMs, type JobKind, LeaseLost } from '../../jobs/kind.js';
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
import {
  dueHeldBalancer,
  hasHeldBalancers,
  heldBalancer,
  holdBalancer,
  nextHeldAtMs,
  releaseBalancer,
} from '../../store/balancing/held-balancers.js';
import { type LoadBalancerRow, sizeOfBalancer, someLoadBalancersOfPool } from '../../store/balancing/load-balancers.js';
import type { PoolRow } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { findZone } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { isOfStore } from '../kernel/errors.js';

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
const MOST_AT_ONCE = MOST_COST / OF_BALANCER;

/** When one that could not be written is tried again. */
const BACKOFF = { firstMs: LATER_MS, mostMs: 3_600_000 };
/** Of the reason why, characters. */
const MOST_TEXT = 500;

/** Load balancers that a write reaches already, by store number. */
export type ReachedBalancers = Map<number, LoadBalancerRow>;

/**
 * Commits a change of pools of an account (store number), for which `work` calls {@link noteBalancersOfPools}, and brings it to their
 * load balancers.
 */
export async function commitAndReach<Value>(
  ctx: Context,
  account: number,
  work: (draft: Draft, reached: ReachedBalancers | undefined) => Value,
): Promise<Value> {
  // So that no load balancer stays behind where pools change all the time.
  await reachBalancers(ctx, account);
  const committed = await commit(ctx, (draft) => work(draft, new Map())).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.status !== 503 || isOfStore(error)) throw error;
    // One of few load balancers cannot be signed: the change comes to the others without it.
    return commit(ctx, (draft) => work(draft, undefined));
  });
  await reachBalancers(ctx, account);
  return committed.value;
}

/**
 * Call before pools change. `changes`: whether their settings do; otherwise it is their monitors. `reached`: of the same write;
 * undefined: all come later.
 */
export function noteBalancersOfPools(
  ctx: Context,
  draft: Draft,
  pools: readonly PoolRow[],
  changes: 'settings' | 'monitors',
  reached: ReachedBalancers | undefined,
): void {
  const { store, clock } = ctx;
  const few = reached && fewBalancersOf(store, pools, reached);
  if (few) {
    for (const row of few) noteBalancer(draft, row);
    for (const row of few) reached.set(row.seq, row);
    return;
  }
  for (const row of pools) {
    const settings = changes === 'settings' ? row.settings : undefined;
    keepEarlierPool(store, row.seq, settings, countedMonitors(store, row).length > 0);
  }
  scheduleReach(ctx, pools[0]!.account, clock.nowMs() + LATER_MS);
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
    await reachAll(own, account);
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
      if (account === undefined) return { done: true };
      const againAtMs = await reachAll(ctx, account, requireLease, signal);
      if (signal.aborted) return { againAtMs: base.clock.nowMs() };
      return againAtMs === undefined ? { done: true } : { againAtMs };
    },
  };
}

/** Returns when those that are held are tried again; undefined: there are none. */
async function reachAll(
  ctx: Context,
  account: number,
  requireStill = () => {},
  signal?: AbortSignal,
): Promise<number | undefined> {
  const { store, clock } = ctx;
  let most = MOST_AT_ONCE;
  let hasMore = true;
  while (hasMore && !signal?.aborted) {
    const attempted: LoadBalancerRow[] = [];
    try {
      hasMore = await reachSome(ctx, account, { most, requireStill, attempted });
      most = Math.min(MOST_AT_ONCE, most * 2);
    } catch (error) {
      if (attempted.length === 0 || !isOfBalancer(error)) throw error;
      // One of several, but it is not known which.
      if (attempted.length === 1) await hold(ctx, attempted[0]!, error, requireStill);
      most = Math.max(1, attempted.length >> 1);
    }
    await betweenWrites();
  }
  for (let row = dueHeldBalancer(store, account, clock.nowMs()); row && !signal?.aborted; ) {
    await retry(ctx, row, requireStill);
    await betweenWrites();
    row = dueHeldBalancer(store, account, clock.nowMs());
  }
  return nextHeldAtMs(store, account);
}

/** Whether it is the fault of what is written, not of the store. */
function isOfBalancer(error: unknown): boolean {
  return !(error instanceof LeaseLost) && !isOfStore(error);
}

/** Tries one that is held once more. */
async function retry(ctx: Context, row: LoadBalancerRow, requireStill: () => void): Promise<void> {
  const { store } = ctx;
  try {
    await commit(ctx, (draft) => {
      requireStill();
      if (!heldBalancer(store, row.seq)) return;
      noteBalancer(draft, row);
      releaseBalancer(store, row.seq);
      if (!hasEarlierPools(store, row.account)) endEarlierPools(store, row.account);
    });
  } catch (error) {
    if (!isOfBalancer(error)) throw error;
    await hold(ctx, row, error, requireStill);
  }
}

/** It goes on to see pools as they were, and the others go on without it. */
async function hold(ctx: Context, row: LoadBalancerRow, error: unknown, requireStill: () => void): Promise<void> {
  const { store, clock, log } = ctx;
  log.error({ err: error, name: row.name }, 'a change of a pool cannot come to a load balancer now');
  await commit(ctx, () => {
    requireStill();
    const nowMs = clock.nowMs();
    const failures = (heldBalancer(store, row.seq)?.failures ?? 0) + 1;
    const reason = messageOf(error).slice(0, MOST_TEXT);
    const againAtMs = nowMs + backoffMs(BACKOFF, failures, row.seq);
    holdBalancer(store, row.seq, { failures, reason, tried_at: nowMs, again_at: againAtMs });
    scheduleReach(ctx, row.account, nextHeldAtMs(store, row.account) ?? againAtMs);
  });
}

function scheduleReach({ store, clock }: Context, account: number, runAtMs: number): void {
  const { id } = findAccount(store, account)!;
  schedule(store, { kind: CHANGED_POOLS_JOB, subject: toHex(id), runAtMs }, clock.nowMs());
}

interface Reach {
  /** Load balancers of one write. */
  readonly most: number;
  readonly requireStill: () => void;
  /** Gets those of this write. */
  readonly attempted: LoadBalancerRow[];
}

/** Returns whether there may be more. */
async function reachSome(ctx: Context, account: number, { most, requireStill, attempted }: Reach): Promise<boolean> {
  const { store } = ctx;
  const { value } = await commit(ctx, (draft) => {
    requireStill();
    const next = nextToSeePools(store, account, most);
    const rows = next.slice(0, Math.max(1, countWithin(store, next)));
    const last = rows.at(-1);
    attempted.splice(0, attempted.length, ...rows);
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

/** The further load balancers of pools if one write can reach all of them, beside those that it reaches already. */
function fewBalancersOf(
  store: Store,
  pools: readonly PoolRow[],
  reached: ReadonlyMap<number, LoadBalancerRow>,
): readonly LoadBalancerRow[] | undefined {
  const rows = new Map(reached);
  for (const { seq } of pools) {
    const more = someLoadBalancersOfPool(store, seq, MOST_AT_ONCE + 1);
    for (const row of more) rows.set(row.seq, row);
    if (rows.size * OF_BALANCER > MOST_COST) return undefined;
  }
  const all = [...rows.values()];
  if (hasHeldBalancers(store, pools[0]!.account) && all.some(({ seq }) => heldBalancer(store, seq))) return undefined;
  return countWithin(store, all) === all.length ? all.filter(({ seq }) => !reached.has(seq)) : undefined;
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
