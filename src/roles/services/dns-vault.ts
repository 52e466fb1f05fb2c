/** The vault of a DNS process: it opens only what the admin process gives keys for, and keeps these in memory. */
import { systemRandom } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import { DNS_PURPOSES, readKeys } from '../../vault/delegate.js';
import type { VaultKey } from '../../vault/envelope.js';
import { createVault, type Vault } from '../../vault/vault.js';

export interface DnsVault extends Vault {
  /** Takes keys from the admin process. */
  setKeys(text: string): void;
}

/** `askKeys`: asks the admin process for keys. */
export function createDnsVault(store: Store, askKeys: () => void): DnsVault {
  let known: readonly VaultKey[] = [];
  const vault = createVault({
    store,
    random: systemRandom,
    // Called again when a needed key is missing: the master key was replaced, or the admin process was away.
    keys() {
      askKeys();
      return known;
    },
  });
  return {
    ...vault,
    setKeys(text) {
      known = readKeys(text, DNS_PURPOSES);
    },
  };
}
