/** How many certificates an account recently requested, and how many it may. Times: milliseconds since 1970. */

import { oneRow, runs, theValue, valueIfAny } from '../columns.js';
import { perStore, type Store } from '../driver.js';

/** Limits of an account that replace the general ones; null = the general limit. */
export interface AllowanceRow {
  readonly account: number;
  readonly issuance_count: number | null;
  readonly issuance_window_s: number | null;
  readonly issuance_lockout_s: number | null;
  /** Whether addresses alone prove that a hostname belongs to the account. */
  readonly apex_addresses: number;
}

const statements = perStore((store) => ({
  putAllowance: store.prepare<
    [account: number, count: number | null, window: number | null, lockout: number | null, apex: number]
  >(
    `INSERT INTO hostname_allowances (account, issuance_count, issuance_window_s, issuance_lockout_s, apex_addresses)
     VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account) DO UPDATE SET issuance_count = excluded.issuance_count,
       issuance_window_s = excluded.issuance_window_s, issuance_lockout_s = excluded.issuance_lockout_s,
       apex_addresses = excluded.apex_addresses`,
  ),
  endLockout: store.prepare<[account: number]>('DELETE FROM issuance_lockouts WHERE account = ?'),
  add: store.prepare<[account: number, atMs: number]>('INSERT INTO issuance_events (account, at_ms) VALUES (?, ?)'),
  forget: store.prepare<[account: number, upToMs: number, afterMs: number]>(
    'DELETE FROM issuance_events WHERE account = ? AND (at_ms <= ? OR at_ms > ?)',
  ),
  forgetAll: store.prepare<[account: number]>('DELETE FROM issuance_events WHERE account = ?'),
}));

export const findAllowance = oneRow<[account: number], AllowanceRow>(
  'SELECT * FROM hostname_allowances WHERE account = ?',
);

export function putAllowance(store: Store, row: AllowanceRow): void {
  const { account, issuance_count, issuance_window_s, issuance_lockout_s, apex_addresses } = row;
  statements(store).putAllowance.run(account, issuance_count, issuance_window_s, issuance_lockout_s, apex_addresses);
}

/** When the account's lockout ends; undefined when there is none. */
export const lockoutEnd = valueIfAny<[account: number], number>(
  'SELECT until_ms FROM issuance_lockouts WHERE account = ?',
);

/** Begins a lockout. Call inside a write. */
export const putLockout = runs<
  [account: number, untilMs: number]
>(`INSERT INTO issuance_lockouts (account, until_ms) VALUES (?, ?)
     ON CONFLICT (account) DO UPDATE SET until_ms = excluded.until_ms`);

/**
 * Ends a lockout and deletes the grants that led to it; otherwise the next request would begin another one. Call inside
 * a write.
 */
export function clearLockout(store: Store, account: number): void {
  statements(store).endLockout.run(account);
  statements(store).forgetAll.run(account);
}

/** Number of grants after a time, up to another. */
export const countIssuances = theValue<[account: number, afterMs: number, upToMs: number], number>(
  'SELECT count(*) FROM issuance_events WHERE account = ? AND at_ms > ? AND at_ms <= ?',
);

/**
 * Records a grant. Deletes those up to `forgetMs`, and those after this one, which were recorded before the clock was
 * set back. Call inside a write.
 */
export function addIssuance(store: Store, account: number, atMs: number, forgetMs: number): void {
  statements(store).forget.run(account, forgetMs, atMs);
  statements(store).add.run(account, atMs);
}
