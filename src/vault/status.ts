/** The state of the vault, as far as it is known without opening any value. */
import { equalBytes, toHex } from '../base/bytes.js';
import type { Store } from '../store/driver.js';
import { countSealed, SEALED_COLUMNS, type SealedColumn } from '../store/sealed-columns.js';
import { findCheck } from './check.js';
import { headerOf, keyIdOf } from './envelope.js';
import type { MasterKeys } from './master-key.js';
import { findRightKeys } from './unlock.js';

export interface ColumnStatus {
  readonly table: string;
  readonly column: string;
  readonly purpose: string;
  readonly values: number;
  /** Values that a rotation has yet to reseal. */
  readonly old: number;
}

export interface VaultStatus {
  /** Where the master key is: a file, or a setting. */
  readonly place: string;
  /** Identifier of the key that seals, hexadecimal; undefined when there is none yet. */
  readonly key: string | undefined;
  /** Number of further keys that are kept to open older values. */
  readonly oldKeys: number;
  readonly columns: readonly ColumnStatus[];
}

/** Throws a UserError when the available keys do not belong to this database. */
export function vaultStatus(
  store: Store,
  keys: MasterKeys,
  columns: readonly SealedColumn[] = SEALED_COLUMNS,
): VaultStatus {
  const known = findRightKeys(store, keys, columns);
  const check = findCheck(store);
  const current = check && keyIdOf(check);
  return {
    place: keys.place,
    key: known && current ? toHex(current) : undefined,
    oldKeys: known ? known.filter(({ id }) => !current || !equalBytes(id, current)).length : 0,
    columns: columns.map((column) => {
      const groups = countSealed(store, column);
      const sum = (all: typeof groups): number => all.reduce((total, { count }) => total + count, 0);
      return {
        table: column.table,
        column: column.column,
        purpose: column.purpose,
        values: sum(groups),
        old: sum(groups.filter(({ header }) => !current || !equalBytes(header, headerOf(current)))),
      };
    }),
  };
}
