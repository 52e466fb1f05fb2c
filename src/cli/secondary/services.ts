/** What commands need to read and write TSIG keys: the vault, with the keys of this purpose. */

import { systemRandom } from '../../base/random.js';
import type { Context } from '../../control/kernel/context.js';
import type { SecondaryServices } from '../../control/secondary/tsigs.js';
import { masterKeysOf } from '../../roles/process/control-base.js';
import { unlockVault } from '../../vault/unlock.js';
import type { Command } from '../command.js';
import { loadCommandSettings } from '../settings.js';

export const KEY_SETTINGS = ['dataDir', 'masterKey'] as const;

/** Throws a UserError when the master key is not the right one. */
export async function openServices(
  command: Command,
  environment: NodeJS.ProcessEnv,
  { store }: Context,
): Promise<SecondaryServices> {
  const keys = masterKeysOf(loadCommandSettings(command, environment));
  return { vault: await unlockVault({ store, keys, random: systemRandom, purposes: ['check', 'tsig'] }) };
}
