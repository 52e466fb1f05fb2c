/**
 * Keys of one purpose for a process that never gets the master key. The text names no secret but these keys; it goes
 * only through the socket of the data directory.
 */
import { createSecretKey } from 'node:crypto';
import { fromHex, toHex } from '../base/bytes.js';
import type { SealPurpose } from '../store/sealed-columns.js';
import type { VaultKey } from './envelope.js';
import type { MasterKeys } from './master-key.js';
import { deriveKeys } from './vault.js';

const PAIR = /^([0-9a-f]{16}):([0-9a-f]{64})$/;

/** The keys of a purpose that all master keys of a place derive, the sealing one first; empty when there are none. */
export function printKeys(place: MasterKeys, purpose: SealPurpose): string {
  return deriveKeys(place, [purpose])
    .map(({ id, byPurpose }) => `${toHex(id)}:${byPurpose.get(purpose)!.export().toString('hex')}`)
    .join(',');
}

/** The keys from such a text; pairs that cannot be read are left out. */
export function readKeys(text: string, purpose: SealPurpose): readonly VaultKey[] {
  return text.split(',').flatMap((pair): VaultKey[] => {
    const [, id, key] = PAIR.exec(pair) ?? [];
    if (id === undefined || key === undefined) return [];
    return [{ id: fromHex(id)!, byPurpose: new Map([[purpose, createSecretKey(fromHex(key)!)]]) }];
  });
}
