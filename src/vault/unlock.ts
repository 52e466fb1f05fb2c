/**
 * Unlocks the vault when a process that writes starts. The first master key is created here. A database whose secrets
 * were sealed with keys other than the available ones stays locked.
 */
import { equalBytes, toHex } from '../base/bytes.js';
import { AwaitedError } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { countSealed, SEALED_COLUMNS, type SealedColumn, type SealPurpose } from '../store/sealed-columns.js';
import { findCheck, makeCurrent, opensCheck } from './check.js';
import { deriveKey, keyIdOf, keyIdOfHeader, MASTER_KEY_OCTETS, type VaultKey } from './envelope.js';
import type { MasterKeys } from './master-key.js';
import { createVault, deriveKeys, type Vault } from './vault.js';

export interface UnlockOptions {
  readonly store: Store;
  readonly keys: MasterKeys;
  readonly random: Random;
  /** The purposes for which the process needs keys. */
  readonly purposes: readonly SealPurpose[];
  readonly columns?: readonly SealedColumn[];
  /** Whether other machines seal with the same key, so that none may be made when it is missing here. */
  readonly isShared?: boolean;
}

/**
 * The vault of this database; a database without a vault gets a new master key. Throws a AwaitedError with a remedy when
 * the keys are missing, unusable, or do not belong to this database.
 */
export async function unlockVault(options: UnlockOptions): Promise<Vault> {
  const { store, keys, random, purposes, columns = SEALED_COLUMNS, isShared = false } = options;
  if (isShared && findCheck(store) !== undefined && keys.read() === undefined) throw notCopied(keys);
  const first = findRightKeys(store, keys, columns)?.[0] ?? makeFirstKey(keys, random);
  const check = findCheck(store);
  // The first key becomes the sealing key. The operator may have put it there, or a rotation may have been interrupted
  // before this step.
  if (check === undefined || !equalBytes(keyIdOf(check) ?? check, first.id)) {
    await store.write(() => makeCurrent(store, first, random));
  }
  return createVault({ store, random, keys: () => deriveKeys(keys, purposes), columns });
}

function makeFirstKey(keys: MasterKeys, random: Random): VaultKey {
  const master = random.bytes(MASTER_KEY_OCTETS);
  keys.replace?.([master]);
  return deriveKey(master, ['check']);
}

/**
 * The keys for the check value only, if they open everything that is sealed; undefined when there is no master key and
 * nothing needs one. Throws a AwaitedError otherwise.
 */
export function findRightKeys(
  store: Store,
  place: MasterKeys,
  columns: readonly SealedColumn[],
): readonly VaultKey[] | undefined {
  const masters = place.read();
  const headers = columns.flatMap((column) => countSealed(store, column).map(({ header }) => header));
  if (masters === undefined) {
    if (headers.length > 0) throw missing(place);
    return undefined;
  }
  const keys = masters.map((master) => deriveKey(master, ['check']));
  const check = findCheck(store);
  if (check !== undefined && !keys.some((key) => opensCheck(key, check))) throw wrong(place, keys, keyIdOf(check));
  // A value that is not sealed at all is damaged. Opening it reports that; it does not show that another key is needed.
  const strange = headers.flatMap((header) => keyIdOfHeader(header) ?? []).find((id) => !knows(keys, id));
  if (strange) throw wrong(place, keys, strange);
  return keys;
}

function knows(keys: readonly VaultKey[], id: Uint8Array): boolean {
  return keys.some((key) => equalBytes(key.id, id));
}

/** DNS needs no secrets. */
const MEANWHILE = 'Meanwhile, `zoneplane serve` answers queries from what is stored, and tries again.';

function missing({ place }: MasterKeys): AwaitedError {
  return new AwaitedError(
    `the master key ${place} is missing, but secrets in the database were sealed with it`,
    `Restore it from your copy (mode 0600), or set ZONEPLANE_MASTER_KEY_FILE to its path if it is elsewhere. Without it those secrets are lost. ${MEANWHILE}`,
  );
}

function notCopied({ place }: MasterKeys): AwaitedError {
  return new AwaitedError(
    `the master key ${place} is missing on this node, and the other nodes have it`,
    'Copy master.key from another node (mode 0600), or give all nodes the same ZONEPLANE_MASTER_KEY.',
  );
}

function wrong(
  { place, replace }: MasterKeys,
  keys: readonly VaultKey[],
  needed: Uint8Array | undefined,
): AwaitedError {
  const found = keys.map(({ id }) => toHex(id)).join(', ');
  const remedy = replace
    ? 'Restore the file that belongs to this database; a restored backup needs the master key from the time of the backup.'
    : 'Set the key with which this database was sealed; to replace it, set the new key, a comma and the old key.';
  return new AwaitedError(
    `the master key of ${place} is not the one that sealed the secrets in the database (needed: key ${needed ? toHex(needed) : 'unknown'}; found: ${found})`,
    `${remedy} ${MEANWHILE}`,
  );
}
