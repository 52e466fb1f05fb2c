/** `zoneplane vault`: the master key of secrets at rest. */
import { SystemClock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { systemRandom } from '../base/random.js';
import type { LoadedSettings } from '../config/load.js';
import { masterKeysOf } from '../roles/process/control-base.js';
import { dataFile, findDataDirectory } from '../roles/process/data-directory.js';
import { openStore, type Store } from '../store/driver.js';
import { acquireFileLock } from '../store/file-lock.js';
import { requireSchema } from '../store/migrate.js';
import { type Rotation, rotateMasterKey } from '../vault/rotate.js';
import { type VaultStatus, vaultStatus } from '../vault/status.js';
import { openForCommand } from './cluster/open-store.js';
import { type Command, type CommandContext, example } from './command.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';
import type { Terminal } from './terminal.js';

const VAULT_SETTINGS = ['dataDir', 'masterKey'] as const;

export function addVaultCommands(program: Command, context: CommandContext): void {
  const vault = program.command('vault');
  addRotate(vault, context);
  addStatus(vault, context);
}

function addRotate(vault: Command, { terminal, environment }: CommandContext): void {
  const rotate = vault
    .command('rotate')
    .description('create a new master key and reseal everything, while the server runs')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane vault rotate')}

If it is interrupted, run it again: it goes on where it was. Copies of master.key that you keep
elsewhere are those of before; copy the new one. A backup of the database needs the key of its time.

Where the key is given by ZONEPLANE_MASTER_KEY, give a new key first and, after a comma, the one of
now; restart the server; run this; then remove the old key.`,
    );
  addSettingOptions(rotate, VAULT_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const loaded = loadCommandSettings(rotate, environment);
    requireSharedKey(loaded);
    const lock = acquireFileLock(dataFile(findDataDirectory(loaded.settings.dataDir), 'vaultLock'));
    if (!lock) throw new UserError('another rotation of the master key is under way', 'Wait until it has finished.');
    try {
      const rotation = await withStore(loaded, false, (store) =>
        rotateMasterKey({ store, keys: masterKeysOf(loaded), random: systemRandom }),
      );
      terminal.exitCode = rotation.damaged > 0 ? 1 : 0;
      if (json) terminal.json(rotation);
      else tellRotation(rotation, loaded, terminal);
    } finally {
      lock.release();
    }
  });
}

/** A key in a file of this node would be replaced here, and nowhere else. */
function requireSharedKey({ settings }: LoadedSettings): void {
  if (settings.cluster === undefined || settings.masterKey !== undefined) return;
  throw new UserError(
    'in a cluster, the master key is replaced on all nodes together',
    'Give all nodes ZONEPLANE_MASTER_KEY: first the old key, a comma and a new one, then the new one, a comma and the old one. Restart them each time, then run this.',
  );
}

function tellRotation({ key, resealed, damaged, resumed }: Rotation, loaded: LoadedSettings, terminal: Terminal): void {
  const { place, replace } = masterKeysOf(loaded);
  const values = resealed === 1 ? '1 value was' : `${resealed} values were`;
  terminal.print(`${resumed ? 'went on with a rotation: ' : ''}the master key is now ${key}; ${values} sealed anew`);
  if (damaged > 0) {
    terminal.complain(
      `${damaged} value${damaged === 1 ? ' is' : 's are'} damaged and cannot be opened with any key; the old key is kept.`,
    );
  } else if (!replace) terminal.print(`The old key can be removed from ${place}.`);
}

function addStatus(vault: Command, { terminal, environment }: CommandContext): void {
  const status = vault
    .command('status')
    .description('show the master key in use, where it is kept, and what is sealed; exit 1 if it is the wrong key')
    .printsJson('zoneplane vault status', 'zoneplane vault status --json');
  addSettingOptions(status, VAULT_SETTINGS).action(async ({ json }: { json?: boolean }) => {
    const loaded = loadCommandSettings(status, environment);
    const found = await withStore(loaded, true, async (store) => vaultStatus(store, masterKeysOf(loaded)));
    if (json) terminal.json({ ...found, key: found.key ?? null });
    else tellStatus(found, terminal);
  });
}

function tellStatus({ key, place, oldKeys, columns }: VaultStatus, terminal: Terminal): void {
  if (key === undefined) {
    terminal.print('There is no master key yet. The next start of `zoneplane serve` makes one.');
    return;
  }
  terminal.print(`master key   ${key}`);
  terminal.print(`kept in      ${place}`);
  if (oldKeys > 0) {
    terminal.print(`old keys     ${oldKeys}; finish their replacement with \`zoneplane vault rotate\``);
  }
  terminal.table(
    ['sealed', 'purpose', 'values', 'with an old key'],
    columns.map(({ table, column, purpose, values, old }) => [
      `${table}.${column}`,
      purpose,
      String(values),
      String(old),
    ]),
    'Nothing is sealed.',
  );
}

async function withStore<Result>(
  { settings }: LoadedSettings,
  readonly: boolean,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const directory = findDataDirectory(settings.dataDir);
  if (!readonly) {
    const { store, close } = await openForCommand(settings, new SystemClock());
    return work(store).finally(close);
  }
  const store = openStore(directory, { readonly });
  try {
    requireSchema(store);
    return await work(store);
  } finally {
    store.close();
  }
}
