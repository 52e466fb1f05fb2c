/** The check value in `meta`. It shows whether a master key is the right one, and which key seals. */
import { equalBytes } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { findMeta, putMeta } from '../store/meta.js';
import { keyIdOf, openWith, type Place, sealWith, type VaultKey } from './envelope.js';

const PLACE: Place = {
  column: { table: 'meta', id: 'name', column: 'value', purpose: 'check' },
  row: 'vault_check',
};
const TEXT = Buffer.from('zoneplane');

/** The sealed check value; undefined when no vault exists yet. */
export function findCheck(store: Store): Uint8Array | undefined {
  const check = findMeta(store, 'vault_check');
  return check instanceof Uint8Array ? check : undefined;
}

/** Whether the check value opens with this key. */
export function opensCheck({ byPurpose }: VaultKey, check: Uint8Array): boolean {
  const plain = openWith(byPurpose.get('check')!, PLACE, check);
  return plain !== undefined && equalBytes(plain, TEXT);
}

/** Makes this the key that every process seals with after this write. Call inside a write. */
export function makeCurrent(store: Store, { id, byPurpose }: VaultKey, random: Random): void {
  putMeta(store, 'vault_check', sealWith(byPurpose.get('check')!, id, PLACE, TEXT, random));
}

/** The identifier of the key that seals. */
export function currentKeyId(store: Store): Uint8Array {
  const check = findCheck(store);
  const id = check && keyIdOf(check);
  invariant(id, 'the vault is unlocked');
  return id;
}
