/** `zoneplane restore`: a backup becomes the data of a directory, after it was found to be whole. */
import { constants, existsSync, renameSync, rmSync } from 'node:fs';
import { copyFile, cp, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { SystemClock } from '../../base/clock.js';
import { makeDirectories } from '../../base/directories.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { BLOB_DIRECTORY, createBlobs } from '../../bucket/blobs.js';
import { type BodyFault, verifyBodies } from '../../bucket/bodies.js';
import type { Settings } from '../../config/schema.js';
import { planNewerSerials } from '../../control/secondary/newer-serial.js';
import { dataFile, hasDatabase, prepareDataDirectory } from '../../roles/data-directory.js';
import { lockDataDirectory } from '../../roles/lock.js';
import { openBodies } from '../../roles/services/object-bodies.js';
import { DATABASE_FILE, openStore, type Store } from '../../store/driver.js';
import { findDamage } from '../../store/integrity.js';
import { clusterOf, forgetPosition } from '../../store/meta.js';
import { migrate } from '../../store/migrate.js';
import { forgetNewestChange } from '../../store/newest-change.js';
import { countSealed, SEALED_COLUMNS } from '../../store/sealed-columns.js';
import { countServedRecords, servedZones } from '../../store/zones/zones.js';
import { type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import { bodiesBeside } from './backup.js';

/** What was found in a backup. */
interface Restored {
  readonly zones: number;
  readonly records: number;
  readonly objects: number;
  /** Zones that others transfer, which get newer serials at the next start. */
  readonly newerSerials: number;
  /** Secrets that need the master key of the backup's time. */
  readonly sealed: number;
  /** The backup is that of a node of a cluster. */
  readonly isOfCluster: boolean;
}

export function addRestoreCommand(program: Command, { terminal, environment }: CommandContext): void {
  const restore = program
    .command('restore')
    .argument('<file>', 'file that `zoneplane backup` wrote')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example('zoneplane restore /var/backups/zoneplane-monday.db --data-dir /var/lib/zoneplane')}

The server must not run. To go back to a backup in the same place, move the old data directory away first, and copy
master.key from it: secrets in the database can be read with the master key of their time only.`,
    );
  addSettingOptions(restore, ['dataDir', 'objects']).action(async (file: string, { json }: { json?: boolean }) => {
    const { settings } = loadCommandSettings(restore, environment);
    const isMade = !existsSync(settings.dataDir);
    const { path: directory } = prepareDataDirectory(settings.dataDir);
    const lock = lockDataDirectory(directory, 'serveLock');
    try {
      const restored = await restoreBackup(file, directory, settings);
      if (json) terminal.json({ directory, ...restored });
      else {
        const { zones, records, objects, newerSerials } = restored;
        terminal.print(
          `restored ${zones} zones, ${records} records and ${objects} objects that are files into ${directory}`,
        );
        if (newerSerials > 0) {
          terminal.print(
            `${newerSerials === 1 ? '1 zone gets a newer serial' : `${newerSerials} zones get newer serials`} at the next start, because secondaries may have versions from after the backup`,
          );
        }
      }
      if (restored.isOfCluster) {
        terminal.complain(
          'It belongs to a cluster. As a node of that, it begins anew with what the cluster has now. To go back to this backup, run `zoneplane cluster leave` first.',
        );
      }
      if (restored.sealed > 0 && settings.masterKey === undefined && !existsSync(dataFile(directory, 'masterKey'))) {
        terminal.complain(
          `${restored.sealed === 1 ? 'One secret needs' : `${restored.sealed} secrets need`} the master key of that time: put it at ${dataFile(directory, 'masterKey')}.`,
        );
      }
    } finally {
      lock.release();
      // A directory that was made for a backup that is none.
      if (isMade && !hasDatabase(directory)) rmSync(directory, { recursive: true, force: true });
    }
  });
}

/** Everything is copied and checked aside; the directory has all of it or nothing. Throws a UserError. */
async function restoreBackup(file: string, directory: string, settings: Settings): Promise<Restored> {
  if (hasDatabase(directory) || existsSync(join(directory, BLOB_DIRECTORY))) {
    throw new UserError(`${directory} holds data already`, 'Move it away, or name another directory with --data-dir.');
  }
  if (!existsSync(file)) throw new UserError(`${file} does not exist`, 'Name the file that `zoneplane backup` wrote.');
  const draft = join(directory, 'restoring');
  makeDirectories(draft, 0o700);
  try {
    await copyFile(file, join(draft, DATABASE_FILE), constants.COPYFILE_FICLONE);
    const bodies = bodiesBeside(file);
    if (existsSync(bodies)) await cp(bodies, join(draft, BLOB_DIRECTORY), { recursive: true });
    const restored = await examine(draft, file, settings);
    await sync(join(draft, DATABASE_FILE));
    if (existsSync(join(draft, BLOB_DIRECTORY)))
      renameSync(join(draft, BLOB_DIRECTORY), join(directory, BLOB_DIRECTORY));
    renameSync(join(draft, DATABASE_FILE), dataFile(directory, 'database'));
    forgetNewestChange(directory);
    await sync(directory);
    return restored;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function examine(draft: string, file: string, { objects }: Settings): Promise<Restored> {
  const store = openCopy(draft, file);
  try {
    const damage = findDamage(store);
    if (damage !== undefined) throw new UserError(`${file} is damaged: ${damage}`, 'Take another backup.');
    const clock = new SystemClock();
    migrate(store, clock, systemRandom);
    const isOfCluster = clusterOf(store) !== undefined;
    const newerSerials = await store.write(() => {
      if (isOfCluster) forgetPosition(store);
      return planNewerSerials(store, clock.nowMs());
    });
    const { bodies, faults: all } = await verifyBodies(store, createBlobs(draft, systemRandom));
    // Those that are on S3 stay there.
    const faults = objects === undefined ? all : await faultsOnS3(all, objects);
    const [first] = faults;
    if (first) {
      const what = { missing: 'is missing', size: 'is not whole', content: 'is not what was stored' }[first.fault];
      const others = faults.length === 1 ? '' : `, and ${faults.length - 1} others are damaged`;
      throw new UserError(
        `the body of object ${first.object.key} ${what}${others}`,
        `Keep ${bodiesBeside(file)} beside the file, as the backup wrote it, or take another backup.`,
      );
    }
    const values = SEALED_COLUMNS.flatMap((column) => countSealed(store, column));
    const sealed = values.reduce((sum, { count }) => sum + count, 0);
    return {
      zones: servedZones(store).length,
      records: countServedRecords(store),
      objects: bodies,
      newerSerials,
      sealed,
      isOfCluster,
    };
  } finally {
    store.close();
  }
}

function openCopy(draft: string, file: string): Store {
  try {
    return openStore(draft);
  } catch (error) {
    if (error instanceof UserError)
      throw new UserError(`${file} is not a backup of zoneplane`, 'Name the file that `zoneplane backup` wrote.');
    throw error;
  }
}

/** What is in the backup is used, and moved to S3 by the server; only what is in neither place is missing. */
async function faultsOnS3(faults: readonly BodyFault[], objects: string): Promise<BodyFault[]> {
  const { shared } = await openBodies({ dataDir: '', objects }, silentLogger());
  const found = await Promise.all(
    faults.map(
      async (fault) => fault.fault !== 'missing' || (await shared!.sizeOf(fault.object.blob)) !== fault.object.size,
    ),
  ).finally(() => shared!.close());
  return faults.filter((_, index) => found[index]);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
