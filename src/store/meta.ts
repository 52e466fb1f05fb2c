/** Facts of the installation: its identity, the pepper of its credentials, and completed one-time steps. */
import { invariant } from '../base/errors.js';
import { runs, valueIfAny } from './columns.js';
import type { SqlValue, Store } from './driver.js';
import { keptPerState } from './state/kept.js';

export type MetaName =
  | 'installation'
  | 'created_at'
  | 'credential_pepper'
  | 'first_run_done'
  | 'flattening_indexed'
  | 'serving_settings'
  | 'auth_key_secret_hash'
  | 'auth_key_secret_set_at'
  | 'vault_check'
  | 'tsig_version'
  | 'incoming_version'
  /** The identifier of the cluster whose log this copy follows. */
  | 'cluster'
  /** The position in that log; see replay.ts. */
  | 'log_number'
  | 'log_id'
  /** Changes that a start found missing (newest-change.ts). */
  | 'lost_changes'
  /** How far bodies of objects were read, and which are damaged (bucket/bodies/verify-round.ts). */
  | 'verified_bodies'
  /** In a backup: when it was made, in milliseconds since 1970. */
  | 'backup_made_at'
  /** The highest number of an account when one was deleted. */
  | 'last_account';

export const findMeta = valueIfAny<[name: MetaName], SqlValue>('SELECT value FROM meta WHERE name = ?');

export const putMeta = runs<[name: MetaName, value: SqlValue]>(
  'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
);

export const deleteMeta = runs<[name: MetaName]>('DELETE FROM meta WHERE name = ?');

/**
 * The name of this installation's edges in `CDN-Loop` (RFC 8586). All of them share it, so that a loop through several is detected,
 * too.
 */
export function loopIdOf(store: Store): string {
  return `zoneplane-${String(findMeta(store, 'installation'))}`;
}

/** The cluster whose log this copy follows; also for a database without tables, or with others than expected. */
export function clusterOf(store: Store): SqlValue | undefined {
  const [tables] = store.prepareTuples<[], [number]>("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").get()!;
  return tables === 0 ? undefined : findMeta(store, 'cluster');
}

/** Before the first entry of any log, so that none follows. */
const NO_POSITION = -1;

/**
 * Something was written to a copy of a cluster past the log: no entry may follow, so the copy is replaced when it is to follow
 * the log again. Call inside a write.
 */
export function forgetPosition(store: Store): void {
  putMeta(store, 'log_number', NO_POSITION);
  putMeta(store, 'log_id', '');
}

/** Makes the database one of its own. Call inside a write. */
export function leaveCluster(store: Store): void {
  deleteMeta(store, 'cluster');
  if (findMeta(store, 'log_number') !== NO_POSITION) return;
  for (const name of ['log_number', 'log_id'] as const) deleteMeta(store, name);
}

const peppers = keptPerState<SqlValue>(1);

/** Octets mixed into every stored credential hash, so that hashes of different installations cannot be compared. */
export function credentialPepper(store: Store): Uint8Array {
  const pepper = peppers(store, '', () => findMeta(store, 'credential_pepper'));
  invariant(pepper instanceof Uint8Array, 'the database has a credential pepper');
  return pepper;
}
