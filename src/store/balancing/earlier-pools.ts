/**
 * Pools as load balancers still see them to which a change has not come yet. Changes of an account's pools come to its load balancers
 * in the order of their numbers, apart from those that are held (held-balancers.ts).
 */

import { hasRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import type { LoadBalancerRow } from './load-balancers.js';
import type { PoolRow } from './pools.js';

/** A pool as one load balancer sees it. */
export interface SeenPool extends PoolRow {
  /** Of a pool as it was: whether health played a part. */
  readonly monitored: number | null;
}

type SeenRow = SeenPool & { readonly earlier: string | null };

/** Rows of a pool as the load balancer that uses it still sees it. */
const STILL_SEEN = `earlier_pools.pool = uses.pool AND uses.load_balancer <= last_balancer AND (uses.load_balancer > after_balancer
  OR earlier_pools.seq >= (SELECT first_earlier FROM held_balancers WHERE load_balancer = uses.load_balancer))`;

/** Rows that make no difference beside an older one, for those that have still to be reached and for those that are held. */
const UNSEEN = `EXISTS (SELECT 1 FROM earlier_pools AS one
  WHERE one.pool = later.pool AND one.seq < later.seq AND (one.settings IS NOT NULL OR later.settings IS NULL)
    AND one.after_balancer <= later.after_balancer AND one.last_balancer >= later.last_balancer
    AND NOT EXISTS (SELECT 1 FROM held_balancers
      WHERE account = later.account AND first_earlier > one.seq AND first_earlier <= later.seq))`;

/** Held load balancers for which a row still holds. */
const HOLDING = `FROM held_balancers JOIN load_balancer_pools USING (load_balancer)
  WHERE account = earlier_pools.account AND pool = earlier_pools.pool AND first_earlier <= earlier_pools.seq`;

const statements = perStore((store) => ({
  // Settings that did not change with the oldest row are those that a later one has kept.
  seenBy: store.prepare<[balancer: number], SeenRow>(
    `SELECT pools.*,
       (SELECT monitored FROM earlier_pools WHERE ${STILL_SEEN} ORDER BY seq LIMIT 1) AS monitored,
       (SELECT settings FROM earlier_pools WHERE ${STILL_SEEN} AND settings IS NOT NULL ORDER BY seq LIMIT 1) AS earlier
     FROM load_balancer_pools AS uses JOIN pools ON pools.seq = uses.pool
     WHERE uses.load_balancer = ? ORDER BY pools.seq`,
  ),
  keep: store.prepare<[settings: string | null, monitored: number, pool: number]>(
    `INSERT INTO earlier_pools (pool, account, settings, monitored, after_balancer, last_balancer)
     SELECT seq, account, ?, ?, 0, (SELECT coalesce(max(load_balancer), 0) FROM load_balancer_pools WHERE pool = pools.seq)
     FROM pools WHERE seq = ? ORDER BY seq`,
  ),
  // Without it, edits would fill the disk while they cannot come to load balancers.
  forgetUnseen: store.prepare<[pool: number]>(`DELETE FROM earlier_pools AS later WHERE pool = ? AND ${UNSEEN}`),
  next: store.prepare<[account: number, account: number, limit: number], LoadBalancerRow>(
    `SELECT * FROM load_balancers
     WHERE account = ? AND seq > (SELECT min(after_balancer) FROM earlier_pools WHERE account = ?)
       AND EXISTS (SELECT 1 FROM load_balancer_pools JOIN earlier_pools USING (pool)
         WHERE load_balancer = load_balancers.seq AND load_balancer > after_balancer AND load_balancer <= last_balancer)
       AND NOT EXISTS (SELECT 1 FROM held_balancers WHERE load_balancer = load_balancers.seq)
     ORDER BY seq LIMIT ?`,
  ),
  advance: store.prepare<[balancer: number, account: number, balancer: number]>(
    'UPDATE earlier_pools SET after_balancer = ? WHERE account = ? AND after_balancer < ?',
  ),
  end: store.prepare<[account: number]>(
    `DELETE FROM earlier_pools WHERE account = ? AND NOT EXISTS (SELECT 1 ${HOLDING})`,
  ),
  endForOthers: store.prepare<[account: number]>(
    `UPDATE earlier_pools SET (after_balancer, last_balancer) = (SELECT max(load_balancer), max(load_balancer) ${HOLDING})
     WHERE account = ?`,
  ),
  forgetUnseenOf: store.prepare<[account: number]>(
    `DELETE FROM earlier_pools AS later WHERE account = ? AND ${UNSEEN}`,
  ),
}));

/** Every pool that a load balancer (store number) refers to anywhere, as it sees it. */
export function poolsSeenBy(store: Store, balancer: number): SeenPool[] {
  return statements(store)
    .seenBy.all(balancer)
    .map(({ earlier, ...pool }) => (earlier === null ? pool : { ...pool, settings: earlier }));
}

/**
 * The load balancers of a pool (store number) go on to see it as it is. `settings`: undefined if these do not change, but its
 * monitors do; `monitored`: whether health plays a part.
 */
export function keepEarlierPool(store: Store, pool: number, settings: string | undefined, monitored: boolean): void {
  const { keep, forgetUnseen } = statements(store);
  keep.run(settings ?? null, monitored ? 1 : 0, pool);
  forgetUnseen.run(pool);
}

const hasAny = hasRow<[account: number]>('SELECT 1 FROM earlier_pools WHERE account = ? LIMIT 1');

/** Whether load balancers of an account (store number) that are not held may see pools as they were. */
export const hasEarlierPools = hasRow<[account: number]>(
  'SELECT 1 FROM earlier_pools WHERE account = ? AND after_balancer < last_balancer LIMIT 1',
);

/** The next load balancers of an account to which changes come, no more than `limit`. */
export function nextToSeePools(store: Store, account: number, limit: number): LoadBalancerRow[] {
  return statements(store).next.all(account, account, limit);
}

/** All changes have come to the account's load balancers up to this one (store number). */
export function showPoolsUpTo(store: Store, account: number, balancer: number): void {
  statements(store).advance.run(balancer, account, balancer);
}

/** The same for all its load balancers that are not held. */
export function endEarlierPools(store: Store, account: number): void {
  const { end, endForOthers, forgetUnseenOf } = statements(store);
  end.run(account);
  // What is left is for those that are held.
  if (!hasAny(store, account)) return;
  endForOthers.run(account);
  forgetUnseenOf.run(account);
}
