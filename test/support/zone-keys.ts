/** Keys of signed zones for tests: a vault with a master key of its own. */
import type { Random } from '../../src/base/random.js';
import { createZoneKeys } from '../../src/control/dnssec/zone-keys.js';
import type { ZoneKeys } from '../../src/control/kernel/zone-keys.js';
import type { Store } from '../../src/store/driver.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { settingKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import type { Vault } from '../../src/vault/vault.js';

export async function testZoneKeys(store: Store, random: Random): Promise<ZoneKeys> {
  const vault = await testVault(store, random);
  return createZoneKeys(() => vault);
}

export function testVault(store: Store, random: Random): Promise<Vault> {
  const keys = settingKeys([new Uint8Array(32).fill(7)], 'the test');
  return unlockVault({ store, keys, random, purposes: ALL_PURPOSES });
}
