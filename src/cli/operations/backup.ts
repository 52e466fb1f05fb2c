/** `zoneplane backup`: a consistent copy of the database, and of the bodies of objects that are files, while everything runs. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../../base/errors.js';
import { BLOB_DIRECTORY } from '../../bucket/blobs.js';
import { type BodyCount, compareBodies, copyBodies } from '../../bucket/bodies.js';
import { findDataDirectory } from '../../roles/data-directory.js';
import { openStore, type Store } from '../../store/driver.js';
import { type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';

/** The directory of bodies beside the copy of a database. */
export function bodiesBeside(file: string): string {
  return `${file}.${BLOB_DIRECTORY}`;
}

export function addBackupCommand(program: Command, { terminal, environment }: CommandContext): void {
  const backup = program
    .command('backup')
    .description('copy the database, and the objects that are files, consistently, while the server runs')
    .argument('<file>', 'file to write; it must not exist yet')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane backup /var/backups/zoneplane-monday.db')}

The bodies of large objects are files: they are copied into a directory of the same name with .${BLOB_DIRECTORY} behind it.
To restore both: zoneplane restore /var/backups/zoneplane-monday.db

The master key (master.key in the data directory) is not in the copy. Keep a copy of it too, apart from this one:
without the key, the secrets in the database cannot be read.`,
    );
  addSettingOptions(backup, ['dataDir']).action(async (file: string, { json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(backup, environment);
    const directory = findDataDirectory(settings.dataDir);
    const store = openStore(directory, { readonly: true });
    try {
      const { bodies, octets, faults } = await writeBackup(store, directory, file);
      const size = statSync(file).size;
      if (json) terminal.json({ file, octets: size, bodies, body_octets: octets, missing_bodies: faults.length });
      else {
        const copied = bodies - faults.length;
        const objects =
          bodies === 0 ? '' : ` and ${bodiesBeside(file)} (${copied} bodies of objects, ${octets} octets)`;
        terminal.print(`wrote ${file} (${size} octets)${objects}`);
      }
      for (const { object } of faults) terminal.complain(`the body of object ${object.key} is missing or not whole`);
      if (faults.length > 0) terminal.exitCode = 1;
    } finally {
      store.close();
    }
  });
}

/** Nothing stays of a backup that fails. Objects that come while it is made are in it when the database has them. */
async function writeBackup(store: Store, directory: string, file: string): Promise<BodyCount> {
  const target = bodiesBeside(file);
  for (const path of [file, target]) {
    if (existsSync(path))
      throw new UserError(`${path} exists already.`, 'Choose a new file name; backups never overwrite.');
  }
  const draft = join(dirname(resolve(file)), `${basename(file)}.bodies-partial`);
  rmSync(draft, { recursive: true, force: true });
  try {
    // Before the database, so that what is deleted meanwhile is there, and after it, so that what came meanwhile is there.
    await copyBodies(store, directory, draft);
    await store.backup(file);
    await copyBodies(store, directory, draft);
    const count = compareBodies(store, draft);
    if (existsSync(draft)) renameSync(join(draft, BLOB_DIRECTORY), target);
    return count;
  } catch (error) {
    rmSync(file, { force: true });
    if (error instanceof UserError) throw error;
    const { message } = error as Error;
    throw new UserError(`The backup to ${file} failed: ${message}`, 'Check the disk and try again.');
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
