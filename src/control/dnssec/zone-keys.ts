/** Private keys of zones: sealed in rows, opened for signing. */
import { toHex } from '../../base/bytes.js';
import { openKey, type SigningKey } from '../../dnssec/signing-key.js';
import type { DnssecKeyRow } from '../../store/dnssec/keys.js';
import { ONLINE_KEYS, ZONE_KEYS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import type { ZoneKeys } from '../kernel/zone-keys.js';
import { createSignerThreads } from './threads/signer-threads.js';

/** Opened keys that are kept. Parsing one takes half a millisecond. */
const MOST_KEPT = 2000;
/** More would take the processors from the servers beside them. */
const THREADS = 2;

/** `vaultOf` is called when a key is sealed or opened for the first time. `threads`: the largest number of them. */
export function createZoneKeys(vaultOf: () => Vault, threads = THREADS): ZoneKeys {
  const kept = new Map<string, SigningKey>();
  let vault: Vault | undefined;
  const opened = (): Vault => (vault ??= vaultOf());
  const open = (row: DnssecKeyRow): SigningKey => {
    const name = toHex(row.id);
    const key = kept.get(name) ?? openKey(row.public, opened().open(ZONE_KEYS, row.id, row.sealed!));
    // The one that was used last comes last.
    kept.delete(name);
    kept.set(name, key);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    return key;
  };
  return {
    threads: createSignerThreads(threads),
    seal: (id, pkcs8) => opened().seal(ZONE_KEYS, id, pkcs8),
    sealOnline: (row) => opened().seal(ONLINE_KEYS, row.id, open(row).key.export({ format: 'der', type: 'pkcs8' })),
    open,
  };
}
