/**
 * Replaces the master key while all processes run. Each step is durable before the next begins, and the state shows
 * which steps are done, so a rotation that was killed continues when it is started again:
 * 1. The file holds the new key before the old one.
 * 2. The check value is sealed with the new key: after that write every process seals with it.
 * 3. Every value that is sealed with another key is resealed.
 * 4. The file holds only the new key.
 */
import { equalBytes, toHex } from '../base/bytes.js';
import { UserError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { SqlValue, Store } from '../store/driver.js';
import {
  countSealed,
  replaceSealed,
  SEALED_COLUMNS,
  type SealedColumn,
  sealedUnlike,
} from '../store/sealed-columns.js';
import { currentKeyId, findCheck, makeCurrent } from './check.js';
import { deriveKey, headerOf, MASTER_KEY_OCTETS } from './envelope.js';
import { VaultError } from './errors.js';
import type { MasterKeys } from './master-key.js';
import { findRightKeys } from './unlock.js';
import { createVault, deriveKeys, type Vault } from './vault.js';

export interface RotateOptions {
  readonly store: Store;
  readonly keys: MasterKeys;
  readonly random: Random;
  readonly columns?: readonly SealedColumn[];
}

export interface Rotation {
  /** Identifier of the key that now seals, hexadecimal. */
  readonly key: string;
  /** Number of resealed values. */
  readonly resealed: number;
  /** Number of values that no key opens. While there are any, old keys are kept. */
  readonly damaged: number;
  /** Whether this rotation continued an interrupted one. */
  readonly resumed: boolean;
}

/** Values that are resealed in one write. */
const SLICE = 200;

/** Call only once at a time for each database. Throws a UserError when the available keys are not the right ones. */
export async function rotateMasterKey(options: RotateOptions): Promise<Rotation> {
  const { store, keys, random, columns = SEALED_COLUMNS } = options;
  const known = findRightKeys(store, keys, columns);
  if (known === undefined || findCheck(store) === undefined) {
    throw new UserError('there is no master key yet', 'The first start of `zoneplane serve` makes one.');
  }
  const resumed = known.length > 1;
  const masters = resumed ? keys.read()! : addKey(options);
  const first = deriveKey(masters[0]!, ['check']);
  if (!equalBytes(currentKeyId(store), first.id)) {
    if (!keys.replace) throw notStartedWith(keys);
    await store.write(() => makeCurrent(store, first, random));
  }
  const purposes = columns.map(({ purpose }) => purpose);
  const vault = createVault({ store, random, keys: () => deriveKeys(keys, purposes), columns });
  const header = headerOf(first.id);
  let resealed = 0;
  for (const column of columns) resealed += await resealColumn(store, vault, column, header);
  const damaged = columns.reduce((sum, column) => sum + countUnlike(store, column, header), 0);
  if (damaged === 0) keys.replace?.([masters[0]!]);
  return { key: toHex(first.id), resealed, damaged, resumed };
}

function addKey({ keys, random }: RotateOptions): readonly Uint8Array[] {
  if (!keys.replace) {
    throw new UserError(
      `the master key is set by ${keys.place}, so only you can replace it`,
      'Set it to the new key, a comma and the current key; restart the server; then run this again.',
    );
  }
  const masters = [random.bytes(MASTER_KEY_OCTETS), ...keys.read()!];
  keys.replace(masters);
  return masters;
}

/** A server that knows only the old key could not open resealed values. */
function notStartedWith({ place }: MasterKeys): UserError {
  return new UserError(
    `the server has not been started with the first key of ${place} yet`,
    'Restart `zoneplane serve` with the same keys; then run this again.',
  );
}

/** Returns the number of resealed values; values that do not open stay unchanged. */
async function resealColumn(store: Store, vault: Vault, column: SealedColumn, header: Uint8Array): Promise<number> {
  let resealed = 0;
  for (let after: SqlValue | undefined; ; ) {
    const slice = await store.write(() => {
      const rows = sealedUnlike(store, column, header, SLICE, after);
      return { last: rows.at(-1)?.id, count: rows.filter((row) => reseal(store, vault, column, row)).length };
    });
    resealed += slice.count;
    if (slice.last === undefined) return resealed;
    after = slice.last;
  }
}

function reseal(
  store: Store,
  vault: Vault,
  column: SealedColumn,
  { id, sealed }: { readonly id: SqlValue; readonly sealed: Uint8Array },
): boolean {
  try {
    replaceSealed(store, column, id, vault.seal(column, id, vault.open(column, id, sealed)));
    return true;
  } catch (error) {
    if (error instanceof VaultError && error.code === 'damaged') return false;
    throw error;
  }
}

function countUnlike(store: Store, column: SealedColumn, header: Uint8Array): number {
  return countSealed(store, column)
    .filter((group) => !equalBytes(group.header, header))
    .reduce((sum, { count }) => sum + count, 0);
}
