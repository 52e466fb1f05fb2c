/**
 * `zoneplane backup`: a consistent copy of the database, and of the bodies of objects that are files, while everything runs.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { BLOB_DIRECTORY, type Blobs, createBlobs } from '../../bucket/blobs.js';
import { type BodyCount, compareBodies, copyBodies } from '../../bucket/bodies.js';
import { findDataDirectory } from '../../roles/data-directory.js';
import { openBodies } from '../../roles/services/object-bodies.js';
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
    .argument('<file>', 'file to write; it must not exist yet')
    .option('--no-bodies', 'leave out bodies that are on S3')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane backup /var/backups/zoneplane-monday.db')}

The bodies of large objects are copied into a directory of the same name with .${BLOB_DIRECTORY} behind it, also those on S3;
--no-bodies leaves these out: then keep deleted and replaced ones on S3 by its own means, such as versions.
To restore both: zoneplane restore /var/backups/zoneplane-monday.db

The master key (master.key in the data directory) is not in the copy. Keep a copy of it too, apart from this one:
without the key, the secrets in the database cannot be read.`,
    );
  addSettingOptions(backup, ['dataDir', 'objects']).action(
    async (file: string, { json, bodies: all }: BackupOptions) => {
      const { settings } = loadCommandSettings(backup, environment);
      const directory = findDataDirectory(settings.dataDir);
      const store = openStore(directory, { readonly: true });
      const places = await openBodies({ ...settings, dataDir: directory }, silentLogger());
      try {
        const source = all === false ? places.files : places.blobs;
        const count = await writeBackup(store, source, file);
        const isLeftOut = all === false && places.shared !== undefined;
        const { bodies, octets } = count;
        const faults = isLeftOut ? [] : count.faults;
        const size = statSync(file).size;
        if (json) terminal.json({ file, octets: size, bodies, body_octets: octets, missing_bodies: faults.length });
        else {
          const copied = bodies - count.faults.length;
          const objects =
            bodies === 0 ? '' : ` and ${bodiesBeside(file)} (${copied} bodies of objects, ${octets} octets)`;
          terminal.print(`wrote ${file} (${size} octets)${objects}`);
          if (isLeftOut) terminal.print(`left out: ${count.faults.length} bodies of objects on S3`);
        }
        for (const { object } of faults) terminal.complain(`the body of object ${object.key} is missing or not whole`);
        if (faults.length > 0) terminal.exitCode = 1;
      } finally {
        await places.blobs.close();
        store.close();
      }
    },
  );
}

interface BackupOptions {
  readonly json?: boolean;
  readonly bodies?: boolean;
}

/** Nothing stays of a backup that fails. Objects that come while it is made are in it when the database has them. */
async function writeBackup(store: Store, source: Blobs, file: string): Promise<BodyCount> {
  const target = bodiesBeside(file);
  const place = dirname(resolve(file));
  if (!existsSync(place))
    throw new UserError(`the directory ${place} does not exist`, 'Make it, or choose another one.');
  for (const path of [file, target]) {
    if (existsSync(path))
      throw new UserError(`${path} exists already.`, 'Choose a new file name; backups never overwrite.');
  }
  const draft = join(place, `${basename(file)}.bodies-partial`);
  rmSync(draft, { recursive: true, force: true });
  const copies = createBlobs(draft, systemRandom);
  try {
    // Before the database, so that what is deleted meanwhile is there, and after it, so that what came meanwhile is there.
    await copyBodies(store, source, copies);
    await store.backup(file);
    await copyBodies(store, source, copies);
    const count = await compareBodies(store, copies);
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
