/**
 * The vault at the start of a process that writes: the first master key is made here, and a database whose secrets were sealed with
 * other keys than those at hand stays closed.
 */
import { equalBytes, toHex } from '../base/bytes.js';
import { UserError } from '../base/errors.js';
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
  /** What the process needs keys for. */
  readonly purposes: readonly SealPurpose[];
  readonly columns?: readonly SealedColumn[];
}

/**
 * The vault of this database; one that has none gets a new master key. Throws a UserError that says what to do when the keys
 * are missing, cannot be used, or are not those of this database.
 */
export async function unlockVault(options: UnlockOptions): Promise<Vault> {
  const { store, keys, random, purposes, columns = SEALED_COLUMNS } = options;
  const first = findRightKeys(store, keys, columns)?.[0] ?? makeFirstKey(keys, random);
  const check = findCheck(store);
  // A key that its operator put before the others, or that a rotation had got no further with, seals from now on.
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
 * The keys, for the check value only, when they open everything that is sealed; undefined when there is no master key and nothing
 * that needs one. Throws a UserError otherwise.
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
  // What is no sealed value at all is damage that is found when it is opened, and no sign of another key.
  const strange = headers.flatMap((header) => keyIdOfHeader(header) ?? []).find((id) => !knows(keys, id));
  if (strange) throw wrong(place, keys, strange);
  return keys;
}

function knows(keys: readonly VaultKey[], id: Uint8Array): boolean {
  return keys.some((key) => equalBytes(key.id, id));
}

function missing({ place }: MasterKeys): UserError {
  return new UserError(
    `the master key ${place} is missing, but secrets in the database were sealed with it`,
    'Put it back from where you keep a copy of it (mode 0600), or name it with ZONEPLANE_MASTER_KEY_FILE if it is elsewhere. Without it nobody can read those secrets again.',
  );
}

function wrong({ place, replace }: MasterKeys, keys: readonly VaultKey[], needed: Uint8Array | undefined): UserError {
  const found = keys.map(({ id }) => toHex(id)).join(', ');
  const remedy = replace
    ? 'Put the file back that belongs to this database; a database from a backup needs the master key of its time.'
    : 'Give the key this database was sealed with; when you replace it, give the new one first and, after a comma, the old one.';
  return new UserError(
    `the master key of ${place} is not the one secrets in the database were sealed with (needed: key ${needed ? toHex(needed) : 'unknown'}; found: ${found})`,
    remedy,
  );
}
