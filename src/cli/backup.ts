/** `zoneplane backup`: a consistent copy of the database while everything runs. */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { findDataDirectory } from '../roles/data-directory.js';
import { openStore } from '../store/driver.js';
import { type CommandContext, example } from './command.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';

export function addBackupCommand(program: Command, { terminal, environment }: CommandContext): void {
  const backup = program
    .command('backup')
    .description('copy the database into a new file, consistently, while the server runs')
    .argument('<file>', 'file to write; it must not exist yet')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane backup /var/backups/zoneplane-monday.db')}

To restore: stop the server, put the copy in place of zoneplane.db in the data directory,
remove zoneplane.db-wal and zoneplane.db-shm there, and start again.

The master key (master.key in the data directory) is not in the copy. Keep a copy of it too, apart from this one:
without the key, the secrets in the database cannot be read.`,
    );
  addSettingOptions(backup, ['dataDir']).action(async (file: string, { json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(backup, environment);
    const store = openStore(findDataDirectory(settings.dataDir), { readonly: true });
    try {
      await store.backup(file);
    } finally {
      store.close();
    }
    const octets = statSync(file).size;
    if (json) terminal.json({ file, octets });
    else terminal.print(`wrote ${file} (${octets} octets)`);
  });
}
