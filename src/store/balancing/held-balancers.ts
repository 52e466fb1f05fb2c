/** Load balancers to which changes of pools could not come, for example because the keys of their zone do not open. */
import { allRows, hasRow, oneRow, runs, valueIfAny } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import type { LoadBalancerRow } from './load-balancers.js';

export interface HeldBalancer {
  /** Attempts that have failed, one after the other. */
  readonly failures: number;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly tried_at: number;
  readonly again_at: number;
}

const statements = perStore((store) => ({
  // One that was written meanwhile, or removed, is not held.
  hold: store.prepare<[failures: number, reason: string, triedAt: number, againAt: number, balancer: number]>(
    `INSERT INTO held_balancers (load_balancer, account, first_earlier, failures, reason, tried_at, again_at)
     SELECT seq, account, first, ?, ?, ?, ? FROM (SELECT seq, account, coalesce(
         (SELECT first_earlier FROM held_balancers WHERE load_balancer = load_balancers.seq),
         (SELECT min(earlier_pools.seq) FROM earlier_pools WHERE account = load_balancers.account
           AND after_balancer < load_balancers.seq AND last_balancer >= load_balancers.seq)) AS first FROM load_balancers)
     WHERE seq = ? AND first IS NOT NULL ORDER BY seq
     ON CONFLICT DO UPDATE SET failures = excluded.failures, reason = excluded.reason, tried_at = excluded.tried_at,
       again_at = excluded.again_at`,
  ),
}));

export const heldBalancer = oneRow<[balancer: number], HeldBalancer>(
  'SELECT * FROM held_balancers WHERE load_balancer = ?',
);

/** Notes of a load balancer (store number) that an attempt has failed. */
export function holdBalancer(store: Store, balancer: number, held: HeldBalancer): void {
  const { failures, reason, tried_at: triedAt, again_at: againAt } = held;
  statements(store).hold.run(failures, reason, triedAt, againAt, balancer);
}

export const releaseBalancer = runs<[balancer: number]>('DELETE FROM held_balancers WHERE load_balancer = ?');

export const hasHeldBalancers = hasRow<[account: number]>('SELECT 1 FROM held_balancers WHERE account = ? LIMIT 1');

/** When the next one of an account is tried again. */
export const nextHeldAtMs = valueIfAny<[account: number], number>(
  'SELECT again_at FROM held_balancers WHERE account = ? ORDER BY again_at LIMIT 1',
);

/** The one of an account that has been due for longest. */
export const dueHeldBalancer = oneRow<[account: number, nowMs: number], LoadBalancerRow>(
  `SELECT load_balancers.* FROM held_balancers JOIN load_balancers ON load_balancers.seq = load_balancer
   WHERE held_balancers.account = ? AND again_at <= ? ORDER BY again_at LIMIT 1`,
);

/** All of them, each with its name and its zone. */
export const heldBalancers = allRows<
  [limit: number],
  HeldBalancer & Pick<LoadBalancerRow, 'name' | 'account'> & { readonly zone: Uint8Array }
>(
  `SELECT failures, reason, tried_at, again_at, load_balancers.name, zones.id AS zone, load_balancers.account
   FROM held_balancers JOIN load_balancers ON load_balancers.seq = load_balancer JOIN zones ON zones.seq = load_balancers.zone
   ORDER BY load_balancer LIMIT ?`,
);
