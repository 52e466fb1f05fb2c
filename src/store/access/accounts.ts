/** Accounts, which own zones and buckets. */

import { allRows, hasRow, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { findMeta, putMeta } from '../meta.js';

export interface AccountRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly name: string;
  readonly type: 'standard' | 'enterprise';
  readonly created_at: number;
  /** 1: sessions of its members need a second factor. */
  readonly enforce_twofactor: number;
}

export type NewAccountRow = Omit<AccountRow, 'seq' | 'enforce_twofactor'>;

const statements = perStore((store) => ({
  two: store.prepareTuples<[], [seq: number]>('SELECT seq FROM accounts ORDER BY seq LIMIT 2'),
  insert: store.prepare<[seq: number | null, id: Uint8Array, name: string, type: string, createdAt: number]>(
    'INSERT INTO accounts (seq, id, name, type, created_at) VALUES (?, ?, ?, ?, ?)',
  ),
  update: store.prepare<[name: string, enforced: number, seq: number]>(
    'UPDATE accounts SET name = ?, enforce_twofactor = ? WHERE seq = ?',
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM accounts WHERE seq = ?'),
}));

export const findAccount = oneRow<[seq: number], AccountRow>('SELECT * FROM accounts WHERE seq = ?');

export const findAccountById = oneRow<[id: Uint8Array], AccountRow>('SELECT * FROM accounts WHERE id = ?');

/** All accounts, the oldest first. */
export const allAccounts = allRows<[], AccountRow>('SELECT * FROM accounts ORDER BY seq');

/** Returns the row number of the new account. */
export function insertAccount(store: Store, { id, name, type, created_at }: NewAccountRow): number {
  const last = findMeta(store, 'last_account');
  const seq = typeof last === 'number' ? Math.max(last, ...allAccounts(store).map((row) => row.seq)) + 1 : null;
  return statements(store).insert.run(seq, id, name, type, created_at).lastInsertRowid;
}

export function updateAccount(store: Store, { seq, name, enforce_twofactor }: AccountRow): void {
  statements(store).update.run(name, enforce_twofactor, seq);
}

/** Whether any account that a user (store number) has agreed to belong to requires a second factor. */
export const requiresTwoFactor = hasRow<
  [user: number]
>(`SELECT 1 FROM memberships m JOIN accounts a ON a.seq = m.account
     WHERE m.user = ? AND m.status = 'accepted' AND m.agreed = 1 AND a.enforce_twofactor = 1 LIMIT 1`);

/** Removes an account with its credentials and memberships. Its number is not used again: the audit log still has it. */
export function removeAccount(store: Store, seq: number): void {
  putMeta(store, 'last_account', Math.max(...allAccounts(store).map((row) => row.seq)));
  statements(store).remove.run(seq);
}

/** Whether there is one account and no other. */
export function isOnlyAccount(store: Store): boolean {
  return statements(store).two.all().length === 1;
}
