/** Private keys of zones: sealed in rows, opened for signing. */
import { toHex } from '../../base/bytes.js';
import { openKey, type SigningKey } from '../../dnssec/signing-key.js';
import type { DnssecKeyRow } from '../../store/dnssec/keys.js';
import { ONLINE_KEYS, ZONE_KEYS } from '../../store/sealed-columns.js';
import type { Vault } from '../../vault/vault.js';
import { createSignerThreads, type SignerThreads } from './threads/signer-threads.js';

export interface ZoneKeys {
  /** Seals a private key (PKCS #8) for the row with this identifier. Call inside the write that stores it. */
  seal(id: Uint8Array, pkcs8: Uint8Array): Uint8Array;
  /** Seals the private key of a row for DNS processes. Call inside the write that stores it; throws what `open` throws. */
  sealOnline(row: DnssecKeyRow): Uint8Array;
  /** Opens the private key of a row. Throws a VaultError or a SigningKeyError. */
  open(row: DnssecKeyRow): SigningKey;
  /** Threads that sign with opened keys. */
  readonly threads: SignerThreads;
}

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
