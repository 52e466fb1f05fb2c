/** `zoneplane restore`: a backup becomes the data of a directory, after it was found to be whole. */
import { existsSync, rmSync } from 'node:fs';
import type { Command } from 'commander';
import { describeDamaged } from '../../backup/examine.js';
import { type Restored, restoreBackup } from '../../backup/restore.js';
import { SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import type { Settings } from '../../config/schema.js';
import { dataFile, hasDatabase, prepareDataDirectory } from '../../roles/data-directory.js';
import { lockDataDirectory } from '../../roles/lock.js';
import { openBodies } from '../../roles/services/object-bodies.js';
import { type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import type { Terminal } from '../terminal.js';

interface RestoreOptions {
  readonly json?: boolean;
  readonly withoutDamaged?: boolean;
}

export function addRestoreCommand(program: Command, { terminal, environment }: CommandContext): void {
  const restore = program
    .command('restore')
    .argument('<file>', 'file that `zoneplane backup` wrote')
    .option('--without-damaged', 'leave out objects whose bodies are damaged, and restore all else')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane restore /var/backups/zoneplane-monday.db --data-dir /var/lib/zoneplane')}

The server must not run. To go back to a backup in the same place, move the old data directory away first, and copy
master.key from it: secrets in the database can be read with the master key of their time only.`,
    );
  addSettingOptions(restore, ['dataDir', 'objects']).action(async (file: string, options: RestoreOptions) => {
    const { settings } = loadCommandSettings(restore, environment);
    const isMade = !existsSync(settings.dataDir);
    const { path: directory } = prepareDataDirectory(settings.dataDir, 'restore');
    const locks = [lockDataDirectory(directory, 'serveLock'), lockDataDirectory(directory, 'adminLock')];
    try {
      const restored = await restoreInto(directory, file, settings, options);
      report(terminal, directory, settings, restored, options);
    } finally {
      for (const lock of locks) lock.release();
      // A directory that was made for a backup that is none.
      if (isMade && !hasDatabase(directory)) rmSync(directory, { recursive: true, force: true });
    }
  });
}

async function restoreInto(
  directory: string,
  file: string,
  { objects }: Settings,
  { withoutDamaged = false }: RestoreOptions,
): Promise<Restored> {
  if (hasDatabase(directory)) {
    throw new UserError(`${directory} holds data already`, 'Move it away, or name another directory with --data-dir.');
  }
  // What is in the backup is used, and moved to S3 by the server; only what is in neither place is missing.
  const places = objects === undefined ? undefined : await openBodies({ dataDir: directory, objects }, silentLogger());
  try {
    return await restoreBackup(file, directory, {
      clock: new SystemClock(),
      elsewhere: places?.shared,
      withoutDamaged,
    });
  } finally {
    await places?.blobs.close();
  }
}

function report(
  terminal: Terminal,
  directory: string,
  settings: Settings,
  restored: Restored,
  { json }: RestoreOptions,
): void {
  const { zones, records, objects, newerSerials, damaged, lacksSums, sealed, isOfCluster } = restored;
  if (json) {
    const missing = damaged.map(({ bucket, key, fault }) => ({ bucket, key, fault }));
    terminal.json({ directory, zones, records, objects, newerSerials, sealed, isOfCluster, damaged: missing });
  } else {
    terminal.print(
      `restored ${zones} zones, ${records} records and ${objects} objects that are files into ${directory}`,
    );
    if (newerSerials > 0) {
      terminal.print(
        `${newerSerials === 1 ? '1 zone gets a newer serial' : `${newerSerials} zones get newer serials`} at the next start, because secondaries may have versions from after the backup`,
      );
    }
  }
  for (const object of damaged) terminal.complain(`not restored: ${describeDamaged(object)}`);
  if (lacksSums)
    terminal.complain('The backup has no list of sums, so changed octets in its database could not be noticed.');
  if (isOfCluster) {
    terminal.complain(
      'It belongs to a cluster. As a node of that, it begins anew with what the cluster has now. To go back to this backup, run `zoneplane cluster leave` first.',
    );
  }
  if (sealed > 0 && settings.masterKey === undefined && !existsSync(dataFile(directory, 'masterKey'))) {
    terminal.complain(
      `${sealed === 1 ? 'One secret needs' : `${sealed} secrets need`} the master key of that time: put it at ${dataFile(directory, 'masterKey')}.`,
    );
  }
}
