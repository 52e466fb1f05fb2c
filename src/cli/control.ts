/** Use cases on the data directory itself, as the operator: with or without a server running on it. */

import { userInfo } from 'node:os';
import { toHex } from '../base/bytes.js';
import { SystemClock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { silentLogger } from '../base/log.js';
import { Steps, standBack } from '../base/process/scheduling.js';
import { systemRandom } from '../base/random.js';
import type { LoadedSettings } from '../config/load.js';
import { nearMatch } from '../config/near-match.js';
import type { Settings } from '../config/schema.js';
import { chooseAccount } from '../control/guard/access.js';
import { OPERATOR } from '../control/guard/actor.js';
import type { Context } from '../control/kernel/context.js';
import { parseZoneName } from '../control/rules/names.js';
import { zoneFailure } from '../control/rules/zone-failures.js';
import type { SecondaryServices } from '../control/secondary/tsigs.js';
import type { ZoneItem } from '../control/zones/item.js';
import { lastServingSettings } from '../control/zones/serving-settings.js';
import { findZoneByName, getZone, listZones } from '../control/zones/zones.js';
import { sayCommitted } from '../roles/process/acknowledgement.js';
import {
  createControlBase,
  masterKeysOf,
  secretAccessKeysOfCommand,
  vaultOfCommand,
  zoneKeysOfCommand,
} from '../roles/process/control-base.js';
import { findDataDirectory, prepareDataDirectory, readRunning } from '../roles/process/data-directory.js';
import type { Store } from '../store/driver.js';
import type { SealedColumn } from '../store/sealed-columns.js';
import { unlockVault } from '../vault/unlock.js';
import type { Vault } from '../vault/vault.js';
import { openForCommand } from './cluster/open-store.js';
import type { Command } from './command.js';
import { loadCommandSettings } from './settings.js';

/** Settings a command that works on the data directory takes as flags; the others come from environment and file. */
export const DATA_SETTINGS = ['dataDir'] as const;
/** The same for commands that read and write TSIG keys. */
export const KEY_SETTINGS = ['dataDir', 'masterKey'] as const;

/**
 * Makes the master key when there is none yet, or checks that it is the right one. For commands that store secrets;
 * throws a UserError with a remedy.
 */
export type Unlock = () => Promise<void>;

/** The vault of certain columns; there must be a master key. */
export type VaultOf = (columns: readonly SealedColumn[]) => Vault;

async function unlockFor(loaded: Pick<LoadedSettings, 'settings' | 'origins'>, store: Store): Promise<void> {
  await unlockVault({ store, keys: masterKeysOf(loaded), random: systemRandom, purposes: ['check', 'dnssec'] });
}

/**
 * What commands need that read and write TSIG keys: the vault, with the keys of this purpose. Throws a UserError when the master
 * key is not the right one.
 */
export async function openServices(
  command: Command,
  environment: NodeJS.ProcessEnv,
  { store }: Context,
): Promise<SecondaryServices> {
  const keys = masterKeysOf(loadCommandSettings(command, environment));
  return { vault: await unlockVault({ store, keys, random: systemRandom, purposes: ['check', 'tsig'] }) };
}

/** Who types the command, for the audit log. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A number without a name, as in a container.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Runs `work` with the context of the operator; the store is closed afterwards. Without a database: 'initialise' makes one,
 * with its first administrator, otherwise a UserError is thrown.
 */
export async function withControl<Result>(
  command: Command,
  environment: NodeJS.ProcessEnv,
  work: (context: Context, settings: Settings, unlock: Unlock, vaultOf: VaultOf) => Promise<Result>,
  without: 'refuse' | 'initialise' = 'refuse',
): Promise<Result> {
  const loaded = loadCommandSettings(command, environment);
  const { settings } = loaded;
  // The nodes of a cluster take every write one after the other.
  const isAlone = (): boolean => settings.cluster === undefined && readRunning(settings.dataDir) === undefined;
  // Like the process that edits, because that waits while this one writes; alone, nobody does.
  if (!isAlone()) standBack(Steps.edit, 'process');
  if (without === 'refuse') findDataDirectory(settings.dataDir);
  else prepareDataDirectory(settings.dataDir);
  const clock = new SystemClock();
  const told: Promise<void>[] = [];
  const { store, close } = await openForCommand(settings, clock, () => told.push(sayCommitted(settings.dataDir)));
  try {
    const own = createControlBase(settings, store, clock, silentLogger(), zoneKeysOfCommand(loaded, store));
    // The change log and signatures must fit what the server serves, which may have other settings than this command.
    const base = {
      ...own,
      isAlone,
      settings: { ...own.settings, ...lastServingSettings(store) },
      secretAccessKeys: secretAccessKeysOfCommand(loaded, store),
    };
    if (without === 'initialise') {
      // Few commands can make a data directory, so the others do not load this module.
      const { ensureAdministrator } = await import('../roles/first-run.js');
      await ensureAdministrator(base, settings, false);
    }
    const requestId = toHex(systemRandom.bytes(16));
    const actor = { ...OPERATOR, keyName: systemUser() };
    const context = { ...base, actor, requestId, source: 'cli' } as const;
    const vaultOf: VaultOf = (columns) => vaultOfCommand(loaded, store, columns);
    return await work(context, settings, () => unlockFor(loaded, store), vaultOf);
  } finally {
    await close();
    await Promise.all(told);
  }
}

/**
 * The zone of a name or identifier. Throws a UserError that names the nearest zone when there is none, and the refusal of
 * `zone create` for a text that no zone can have as its name.
 */
export async function requireZoneNamed(context: Context, text: string): Promise<ZoneItem> {
  if (/^[0-9a-f]{32}$/.test(text)) return getZone(context, text);
  const zone = await findZoneByName(context, text);
  if (zone) return zone;
  const parsed = parseZoneName(text);
  if ('reason' in parsed) throw zoneFailure('badName', parsed);
  const { items } = await listZones(context, { perPage: 1000 });
  const near = nearMatch(
    text,
    items.map(({ asciiName }) => asciiName),
  );
  throw new UserError(
    `there is no zone ${text}${near === undefined ? '' : `; did you mean ${near}?`}`,
    'See them all with `zoneplane zone list`.',
  );
}

/** The identifier of the account that a command works in. */
export function accountOf(context: Context, { account }: { readonly account?: string | undefined }): string {
  return toHex(chooseAccount(context, account).id);
}

/** The zone in which a name lies: that with the longest name. */
export async function zoneOfName(context: Context, name: string): Promise<ZoneItem> {
  const labels = name.replace(/\.$/, '').split('.');
  for (const [i] of labels.entries()) {
    const zone = labels[i] === '*' ? undefined : await findZoneByName(context, labels.slice(i).join('.'));
    if (zone) return zone;
  }
  throw new UserError(`there is no zone for ${name}`, 'See them all with `zoneplane zone list`.');
}

/** The first `most` items of a list that comes in pages; all of them unless told otherwise. */
export async function collectPages<Item>(
  list: (page: number) => Promise<{ readonly items: readonly Item[]; readonly totalCount: number }>,
  most = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let page = 1; ; page++) {
    const { items, totalCount } = await list(page);
    for (const item of items) all.push(item);
    if (items.length === 0 || all.length >= Math.min(totalCount, most)) return all.slice(0, most);
  }
}

/** Microseconds since 1970 as people read it, in UTC; '-' for none. */
export function printInstant(atUs: number | null): string {
  return atUs === null ? '-' : new Date(atUs / 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}
