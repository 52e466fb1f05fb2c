/**
 * `zoneplane backup`: a consistent copy of the database, and of the bodies of objects that are files, while everything runs.
 */
import { existsSync } from 'node:fs';
import { type DamagedObject, describeDamaged, examineBackup } from '../../backup/examine.js';
import { backupPlace } from '../../backup/place.js';
import { streamBackup } from '../../backup/stream.js';
import { type BackupSource, type Written, writeBackup } from '../../backup/write.js';
import { SystemClock } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { BLOB_DIRECTORY } from '../../bucket/blobs.js';
import { findDataDirectory } from '../../roles/process/data-directory.js';
import { openBodies } from '../../roles/services/object-bodies.js';
import { openStore } from '../../store/driver.js';
import { type Command, type CommandContext, example } from '../command.js';
import { printInstant } from '../control.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import type { Terminal } from '../terminal.js';

export function addBackupCommand(program: Command, { terminal, environment }: CommandContext): void {
  const backup = program
    .command('backup')
    .argument('[file]', 'file to write; it must not exist yet')
    .option('--to <place>', 'the same as the file; - sends a tar archive to standard output')
    .option('--no-bodies', 'leave out bodies that are on S3')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${example(
        'zoneplane backup /var/backups/zoneplane-monday.db',
        'zoneplane backup --to - | ssh elsewhere tar --extract --directory backups/monday',
      )}

The bodies of large objects are copied into a directory of the same name with .${BLOB_DIRECTORY} behind it, also those on S3;
--no-bodies leaves these out: then keep deleted and replaced ones on S3 by its own means, such as versions.
The SHA-256 of all of it is in a file of the same name with .sha256 behind it. What was written is read again as a
restoration would read it; the exit code is 0 only if that would accept it.
An archive unpacks into such files: zoneplane.db, zoneplane.db.blobs and zoneplane.db.sha256.
To restore: zoneplane restore /var/backups/zoneplane-monday.db

The master key (master.key in the data directory) is not in the copy. Keep a copy of it too, apart from this one:
without the key, the secrets in the database cannot be read.`,
    );
  addVerifyCommand(backup, terminal);
  addSettingOptions(backup, ['dataDir', 'objects']).action(
    async (named: string | undefined, { json, to, bodies: all }: BackupOptions) => {
      const file = targetOf(named, to);
      const { settings } = loadCommandSettings(backup, environment);
      const directory = findDataDirectory(settings.dataDir);
      const store = openStore(directory, { readonly: true });
      const places = await openBodies({ ...settings, dataDir: directory }, silentLogger());
      try {
        const source = {
          ...{ store, clock: new SystemClock() },
          bodies: all === false ? places.files : places.blobs,
          elsewhere: all === false ? places.shared : undefined,
        };
        const written = file === STREAM ? await sendBackup(source) : await writeBackup(source, file);
        if (file !== STREAM) report(terminal, file, written, json);
        complainOfDamage(terminal, written.damaged);
      } finally {
        await places.blobs.close();
        store.close();
      }
    },
  );
}

/** Standard output. */
const STREAM = '-';

function targetOf(named: string | undefined, to: string | undefined): string {
  if ((named === undefined) === (to === undefined)) {
    throw new UserError('name one file to write', 'zoneplane backup FILE, or --to - for standard output', 2);
  }
  return named ?? to!;
}

async function sendBackup(source: BackupSource): Promise<Written> {
  if (process.stdout.isTTY)
    throw new UserError('a terminal takes no archive', 'Send standard output to a file or a program.');
  try {
    return await streamBackup(source, process.stdout);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    throw new UserError('the backup was not sent: its reader has ended', 'Look at what it said, and try again.');
  }
}

function report(terminal: Terminal, file: string, written: Written, json = false): void {
  const { bodies, octets, damaged, size, elsewhere: leftOut } = written;
  if (json) {
    const counts = { file, octets: size, bodies, body_octets: octets, missing_bodies: damaged.length };
    terminal.json({ ...counts, ...describeAll(damaged) });
    return;
  }
  const copied = written.sums.bodies.size;
  const objects =
    bodies === 0 ? '' : ` and ${backupPlace(file).bodies} (${copied} bodies of objects, ${octets} octets)`;
  terminal.print(`wrote ${file} (${size} octets)${objects}`);
  if (leftOut > 0) terminal.print(`left out: ${leftOut} bodies of objects on S3`);
}

function complainOfDamage(terminal: Terminal, damaged: readonly DamagedObject[]): void {
  if (damaged.length === 0) return;
  for (const object of damaged) terminal.complain(describeDamaged(object));
  terminal.complain('What is damaged is not in the backup: `zoneplane restore` needs --without-damaged for it.');
  terminal.exitCode = 1;
}

function addVerifyCommand(backup: Command, terminal: Terminal): void {
  backup
    .command('verify')
    .description('read a backup as a restoration would; exit 0 if that would accept it')
    .argument('<file>', 'file that `zoneplane backup` wrote')
    .printsJson('zoneplane backup verify /var/backups/zoneplane-monday.db')
    .action(async (file: string, _options: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>();
      if (!existsSync(file))
        throw new UserError(`${file} does not exist`, 'Name the file that `zoneplane backup` wrote.');
      const { bodies, octets, damaged, formerName, lacksSums, madeAtMs } = await examineBackup(backupPlace(file), {
        sums: 'expect',
      });
      const isWhole = damaged.length === 0;
      if (json) {
        terminal.json({ file, whole: isWhole, bodies, body_octets: octets, ...describeAll(damaged) });
      } else if (isWhole) {
        const made = madeAtMs === undefined ? '' : `, of ${printInstant(madeAtMs * 1000)}`;
        const was = formerName === undefined ? '' : `; it was ${formerName}`;
        terminal.print(`whole: ${file}${made}, with ${bodies} bodies of objects (${octets} octets)${was}`);
      }
      for (const object of damaged) terminal.complain(describeDamaged(object));
      if (lacksSums) terminal.complain(`${file} has no list of sums, so changed octets in it could not be noticed.`);
      terminal.exitCode = isWhole ? 0 : 1;
    });
}

const describeAll = (damaged: readonly DamagedObject[]) => ({
  damaged: damaged.map(({ bucket, key, fault }) => ({ bucket, key, fault })),
});

interface BackupOptions {
  readonly to?: string;
  readonly json?: boolean;
  readonly bodies?: boolean;
}
