/** A database with sealed test values, for tests and the process that they kill. */

import { systemRandom } from '../../src/base/random.js';
import { openStore, type Store } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';
import type { SealedColumn } from '../../src/store/sealed-columns.js';
import type { Vault } from '../../src/vault/vault.js';
import { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';

export const KEYS: SealedColumn = { table: 'test_keys', id: 'id', column: 'sealed', purpose: 'tls' };
export const TOKENS: SealedColumn = { table: 'test_keys', id: 'id', column: 'token', purpose: 'acme' };
export const COLUMNS = [KEYS, TOKENS];

/** A text that would be found wherever it stood in clear. */
export const secretOf = (row: number): string => `top-secret-of-row-${row}-${'#'.repeat(40)}`;

export function openWithTable(directory: string): Store {
  const store = openStore(directory);
  migrate(store, new TestClock(), systemRandom);
  runSql(store, 'CREATE TABLE IF NOT EXISTS test_keys (id INTEGER PRIMARY KEY, sealed BLOB, token BLOB) STRICT');
  return store;
}

export function addSealed(store: Store, vault: Vault, row: number): void {
  const plain = Buffer.from(secretOf(row));
  store
    .prepare<[number, Uint8Array, Uint8Array | null]>('INSERT INTO test_keys (id, sealed, token) VALUES (?, ?, ?)')
    .run(row, vault.seal(KEYS, row, plain), row % 2 === 0 ? vault.seal(TOKENS, row, plain) : null);
}

/** Rows that open to what was sealed; throws when one does not. */
export function countOpened(store: Store, vault: Vault): number {
  const rows = store
    .prepare<[], { id: number; sealed: Uint8Array; token: Uint8Array | null }>('SELECT * FROM test_keys ORDER BY id')
    .all();
  for (const { id, sealed, token } of rows) {
    for (const [column, value] of [
      [KEYS, sealed],
      [TOKENS, token],
    ] as const) {
      if (value === null) continue;
      const text = Buffer.from(vault.open(column, id, value)).toString();
      if (text !== secretOf(id)) throw new Error(`row ${id} opens to something else`);
    }
  }
  return rows.length;
}
