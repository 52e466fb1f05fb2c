/**
 * Keys of some purposes for a process that never gets the master key. The text names no secret but these keys; it goes
 * only through the socket of the data directory.
 */
import { createSecretKey } from 'node:crypto';
import { fromHex, toHex } from '../base/bytes.js';
import type { SealPurpose } from '../store/sealed-columns.js';
import type { VaultKey } from './envelope.js';
import type { MasterKeys } from './master-key.js';
import { deriveKeys } from './vault.js';

const KEYS = /^([0-9a-f]{16})((?::[0-9a-f]{64})+)$/;

/** The keys of these purposes that all master keys of a place derive, the sealing one first; empty when there are none. */
export function printKeys(place: MasterKeys, purposes: readonly SealPurpose[]): string {
  return deriveKeys(place, purposes)
    .map(({ id, byPurpose }) =>
      [toHex(id), ...[...byPurpose.values()].map((key) => key.export().toString('hex'))].join(':'),
    )
    .join(',');
}

/** The keys from such a text for the same purposes in the same order; what cannot be read is left out. */
export function readKeys(text: string, purposes: readonly SealPurpose[]): readonly VaultKey[] {
  return text.split(',').flatMap((part): VaultKey[] => {
    const [, id, list] = KEYS.exec(part) ?? [];
    const keys = list?.split(':').slice(1) ?? [];
    if (id === undefined || keys.length !== purposes.length) return [];
    const byPurpose = new Map(purposes.map((purpose, i) => [purpose, createSecretKey(fromHex(keys[i]!)!)]));
    return [{ id: fromHex(id)!, byPurpose }];
  });
}

/** What DNS processes get keys for: signed transfers, and signatures that are made while queries wait. */
export const DNS_PURPOSES: readonly SealPurpose[] = ['tsig', 'online'];
