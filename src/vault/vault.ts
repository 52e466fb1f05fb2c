/**
 * Secrets at rest. The database holds private keys and similar values in sealed form; the sealing keys are not in the
 * database. The key of the check value (check.ts) seals. A rotation (rotate.ts) replaces it in a write, and every later
 * write of any process sees the new one.
 */
import type { KeyObject } from 'node:crypto';
import { equalBytes, toHex } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { SqlValue, Store } from '../store/driver.js';
import { SEALED_COLUMNS, type SealedColumn, type SealPurpose } from '../store/sealed-columns.js';
import { currentKeyId } from './check.js';
import { deriveKey, keyIdOf, openWith, sealWith, type VaultKey } from './envelope.js';
import { VaultError } from './errors.js';
import type { MasterKeys } from './master-key.js';

export interface Vault {
  /**
   * Seals octets for a row of a column. Call it inside the write that stores the result; outside, the master key may
   * change before the value is stored. It reads nothing but the database and the key file. Throws a {@link VaultError}.
   */
  seal(column: SealedColumn, row: SqlValue, plain: Uint8Array): Uint8Array;
  /** Opens a sealed value. Throws a {@link VaultError}. */
  open(column: SealedColumn, row: SqlValue, sealed: Uint8Array): Uint8Array;
}

export interface VaultOptions {
  readonly store: Store;
  readonly random: Random;
  /** Returns the current keys. Called again when a needed key was not among them. */
  readonly keys: () => readonly VaultKey[];
  readonly columns?: readonly SealedColumn[];
}

/** A vault that does not check whether its keys are the right ones; unlock.ts does. */
export function createVault({ store, random, keys, columns = SEALED_COLUMNS }: VaultOptions): Vault {
  let known = keys();

  const find = (id: Uint8Array): VaultKey | undefined => known.find((key) => equalBytes(key.id, id));

  const keyFor = (id: Uint8Array, column: SealedColumn): KeyObject => {
    if (!find(id)) known = keys();
    const found = find(id);
    const text = `${nameOf(column)} needs the master key ${toHex(id)}`;
    if (!found) throw new VaultError('unknown-key', `${text}, which this process does not have`);
    const key = found.byPurpose.get(column.purpose);
    if (!key) throw new VaultError('withheld', `${text}, but this process has no key for that purpose`);
    return key;
  };

  return {
    seal(column, row, plain) {
      invariant(columns.includes(column), `${nameOf(column)} is listed among the sealed columns`);
      const id = currentKeyId(store);
      return sealWith(keyFor(id, column), id, { column, row }, plain, random);
    },
    open(column, row, sealed) {
      const id = keyIdOf(sealed);
      const plain = id && openWith(keyFor(id, column), { column, row }, sealed);
      if (!plain) throw new VaultError('damaged', `${nameOf(column)} is damaged, or belongs to another row`);
      return plain;
    },
  };
}

function nameOf({ table, column }: SealedColumn): string {
  return `a value of ${table}.${column}`;
}

/** Keys derived from all master keys of a place, the sealing one first; empty when there is no master key. */
export function deriveKeys(place: MasterKeys, purposes: readonly SealPurpose[]): readonly VaultKey[] {
  return (place.read() ?? []).map((master) => deriveKey(master, purposes));
}
