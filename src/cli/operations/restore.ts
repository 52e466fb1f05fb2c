/** `zoneplane restore`: a backup becomes the data of a directory, after it was found to be whole. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { describeDamaged } from '../../backup/examine.js';
import { type Restored, type RestoreOptions as RestoreOptionsOfBackup, restoreBackup } from '../../backup/restore.js';
import { fetchFromS3, isOnS3, openSeriesOnS3 } from '../../backup/s3-series.js';
import { chooseBackup } from '../../backup/series.js';
import { SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import type { Settings } from '../../config/schema.js';
import { parseInstant } from '../../control/rules/instant.js';
import { lockDataDirectory } from '../../roles/lock.js';
import { dataFile, hasDatabase, prepareDataDirectory } from '../../roles/process/data-directory.js';
import { openBodies } from '../../roles/services/object-bodies.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import type { Terminal } from '../terminal.js';

interface RestoreOptions {
  readonly json?: boolean;
  readonly withoutDamaged?: boolean;
  readonly asOf?: string;
}

export function addRestoreCommand(program: Command, { terminal, environment }: CommandContext): void {
  const restore = program
    .command('restore')
    .argument('<file>', 'file that `zoneplane backup` wrote, or the place of --backup-dir: its newest backup')
    .option('--as-of <time>', 'replay the writes logged beside it up to this time; latest: all of them')
    .option('--without-damaged', 'leave out objects whose bodies are damaged, and restore all else')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example(
        'zoneplane restore /var/backups/zoneplane-monday.db --data-dir /var/lib/zoneplane',
        'zoneplane restore /mnt/backups --as-of 2026-11-25T14:31:00Z --data-dir /var/lib/zoneplane',
      )}

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
  { withoutDamaged = false, asOf }: RestoreOptions,
): Promise<Restored> {
  const clock = new SystemClock();
  const untilMs = asOf === undefined ? undefined : readTime(asOf, clock.nowMs());
  if (hasDatabase(directory)) {
    throw new UserError(`${directory} holds data already`, 'Move it away, or name another directory with --data-dir.');
  }
  // What is in the backup is used, and moved to S3 by the server; only what is in neither place is missing.
  const places = objects === undefined ? undefined : await openBodies({ dataDir: directory, objects }, silentLogger());
  try {
    if (isOnS3(file))
      return await restoreFromS3(file, directory, { clock, untilMs, elsewhere: places?.shared, withoutDamaged });
    return await restoreBackup(backupNamed(file, untilMs), directory, {
      ...{ clock, untilMs },
      elsewhere: places?.shared,
      withoutDamaged,
    });
  } finally {
    await places?.blobs.close();
  }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Milliseconds since 1970. */
function readTime(text: string, nowMs: number): number {
  if (text === 'latest') return Number.POSITIVE_INFINITY;
  const us = parseInstant(text);
  if (us === undefined) {
    throw new UserError(`--as-of ${text}: expected a time such as 2026-11-25T14:31:00Z, or latest`, undefined, 2);
  }
  if (us / 1000 > nowMs)
    throw new UserError(`--as-of ${text} lies in the future`, 'Name an earlier time, or latest.', 2);
  return us / 1000;
}

/** The address of a backup, or that of all of them: the newest. */
async function restoreFromS3(address: string, directory: string, options: RestoreOptionsOfBackup): Promise<Restored> {
  if (options.untilMs !== undefined) {
    const remedy = 'Restore without --as-of. It works only with backups in a directory (--backup-dir).';
    throw new UserError('there is no log of writes beside backups on S3', remedy, 2);
  }
  const [, name] = /\/(zoneplane-[^/?]+\.db)(?=\?|$)/.exec(address) ?? [];
  const files = await openSeriesOnS3(name === undefined ? address : address.replace(`/${name}`, ''));
  try {
    return await restoreBackup(address, directory, { ...options, fetch: (to) => fetchFromS3(files, name, to) });
  } finally {
    files.close();
  }
}

function backupNamed(file: string, untilMs: number | undefined): string {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ? chooseBackup(file, untilMs) : file;
}

function report(
  terminal: Terminal,
  directory: string,
  settings: Settings,
  restored: Restored,
  { json }: RestoreOptions,
): void {
  const { zones, records, objects, newerSerials, damaged, lacksSums, sealed, isOfCluster, reached } = restored;
  const { lifecycleBuckets } = restored;
  if (json) {
    const missing = damaged.map(({ bucket, key, fault }) => ({ bucket, key, fault }));
    const asOf = reached && {
      as_of: { time: new Date(reached.reachedMs).toISOString(), writes: reached.writes, whole: !reached.gap },
    };
    const counts = { zones, records, objects, newerSerials, lifecycleBuckets, sealed };
    terminal.json({ directory, ...counts, isOfCluster, damaged: missing, ...asOf });
  } else {
    terminal.print(
      `restored ${counted(zones, 'zone')}, ${counted(records, 'record')} and ${counted(objects, 'object')} in files into ${directory}`,
    );
    if (newerSerials > 0) {
      terminal.print(
        `${newerSerials === 1 ? '1 zone gets a newer serial' : `${newerSerials} zones get newer serials`} at the next start, because secondaries may have versions from after the backup`,
      );
    }
  }
  if (reached && !json) {
    terminal.print(
      `as of ${new Date(reached.reachedMs).toISOString()}, with ${counted(reached.writes, 'write')} made after the backup`,
    );
  }
  if (reached?.gap !== undefined) {
    terminal.complain(
      `The log of writes does not reach that time: ${reached.gap}. What was written later is not restored.`,
    );
    terminal.exitCode = 1;
  }
  if (lifecycleBuckets > 0 && !json) {
    terminal.print(
      `${lifecycleBuckets === 1 ? '1 bucket has lifecycle rules' : `${lifecycleBuckets} buckets have lifecycle rules`}: what is old by now is deleted from --lifecycle-interval after the next start on; \`zoneplane bucket rules NAME lifecycle --remove\` keeps it`,
    );
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
