/** When orders were begun at authorities, and for whom. Times: milliseconds since 1970. */

import { allRows } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface OrderStart {
  readonly authority: string;
  /** Store number; 0: the installation itself. */
  readonly account: number;
  /** 1: for a name that is already active, or a renewal. */
  readonly kept: number;
  readonly at_ms: number;
}

/** What one account ordered. */
export interface OrdersOfAccount {
  readonly account: number;
  readonly orders: number;
  /** Those that are not kept. */
  readonly first: number;
  readonly oldest: number;
}

const statements = perStore((store) => ({
  add: store.prepare<[authority: string, account: number, kept: number, atMs: number]>(
    'INSERT INTO order_starts (authority, account, kept, at_ms) VALUES (?, ?, ?, ?)',
  ),
  forget: store.prepare<[authority: string, upToMs: number, afterMs: number]>(
    'DELETE FROM order_starts WHERE authority = ? AND (at_ms <= ? OR at_ms > ?)',
  ),
}));

export const ordersSince = allRows<
  [authority: string, afterMs: number, upToMs: number],
  OrdersOfAccount
>(`SELECT account, count(*) AS orders, sum(1 - kept) AS first, min(at_ms) AS oldest FROM order_starts
     WHERE authority = ? AND at_ms > ? AND at_ms <= ? GROUP BY account`);

/** Forgets those up to `forgetMs`, and those from before the clock was set back. Call inside a write. */
export function addOrderStart(store: Store, { authority, account, kept, at_ms }: OrderStart, forgetMs: number): void {
  const { forget, add } = statements(store);
  forget.run(authority, forgetMs, at_ms);
  add.run(authority, account, kept, at_ms);
}
