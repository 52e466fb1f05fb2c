/** The data directory: created with mode 0700, checked to be writable; and the names of its files. */
import { accessSync, chmodSync, constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeDirectories } from '../../base/directories.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { SETTINGS, type Settings } from '../../config/schema.js';
import { RESTORING } from '../../store/database-file.js';
import { DATABASE_FILE, openStore } from '../../store/driver.js';
import { requireSchema } from '../../store/migrate.js';
import type { DnsListener } from './ipc.js';

/** File names in a data directory. */
export const DataFile = {
  database: DATABASE_FILE,
  serveLock: 'serve.lock',
  adminLock: 'admin.lock',
  /** Locked while the master key is being replaced. */
  vaultLock: 'vault.lock',
  /** The running server and its addresses; for `healthcheck`, `doctor` and messages. */
  running: 'serve.json',
  initialKey: 'initial-key',
  masterKey: 'master.key',
  /** Keeps room for deletions. */
  spare: 'spare',
} as const;

/** The running server's own description. */
export interface Running {
  readonly pid: number;
  readonly version: string;
  readonly adminUrl: string;
  readonly dns: readonly DnsListener[];
  /** Its settings, without secrets. */
  readonly settings?: Partial<Settings>;
}

export function dataFile(directory: string, name: keyof typeof DataFile): string {
  return join(directory, DataFile[name]);
}

export interface DataDirectory {
  /** Absolute path. */
  readonly path: string;
  /** Whether it contains no database yet. */
  readonly isNew: boolean;
  /** Whether other users have access; only a directory that existed before can be open. */
  readonly openToOthers: boolean;
}

/** Creates the directory if it is missing. Throws a {@link UserError} when it cannot be written. */
export function prepareDataDirectory(directory: string, purpose: 'serve' | 'restore' = 'serve'): DataDirectory {
  const path = resolve(directory);
  try {
    if (makeDirectories(path, 0o700) !== undefined) chmodSync(path, 0o700);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(path, error);
  }
  refuseLostDatabase(path);
  if (purpose === 'serve') refuseHalfRestored(path);
  const { mode } = statSync(path);
  return { path, isNew: !hasDatabase(path), openToOthers: (mode & 0o077) !== 0 };
}

/** The path of an existing data directory with a database. Throws a {@link UserError} when there is none. */
export function findDataDirectory(directory: string): string {
  const path = resolve(directory);
  refuseLostDatabase(path);
  if (hasDatabase(path)) return path;
  throw new UserError(
    `there is no database in ${path}`,
    'Start `zoneplane serve` once, or name the directory with --data-dir or ZONEPLANE_DATA_DIR. `zone create`, `zone import` and `import-config` make one with --init.',
  );
}

/** Whether a DNS process can read the database as it is. */
export function isUpToDate({ path, isNew }: DataDirectory): boolean {
  if (isNew) return false;
  try {
    const store = openStore(path, { readonly: true });
    try {
      requireSchema(store);
      return true;
    } finally {
      store.close();
    }
  } catch {
    // The admin process says what is wrong.
    return false;
  }
}

/** An empty file is none: a first start that was killed may leave one. */
export function hasDatabase(path: string): boolean {
  return sizeOf(dataFile(path, 'database')) > 0;
}

/** Throws a {@link UserError} when a new database would take the place of one that is being restored. */
function refuseHalfRestored(path: string): void {
  if (hasDatabase(path) || !existsSync(join(path, RESTORING))) return;
  throw new UserError(
    `a restoration into ${path} was interrupted`,
    `Run \`zoneplane restore\` again, or remove ${join(path, RESTORING)} to begin anew.`,
  );
}

/**
 * Throws a {@link UserError} when the database is empty beside data that belongs to one: then it was lost, and is not new. What
 * a lost one left in its log would be written over a new one.
 */
function refuseLostDatabase(path: string): void {
  const database = dataFile(path, 'database');
  if (sizeOf(database) > 0) return;
  if (!existsSync(database)) {
    const log = [`${database}-wal`, `${database}-journal`].find((file) => sizeOf(file) > 0);
    if (log === undefined) return;
    throw new UserError(
      `${log} is there, but ${database} is not: it has changes of a database that was lost`,
      'Put that database beside it, or move it away.',
    );
  }
  const others = [`${database}-wal`, dataFile(path, 'masterKey'), dataFile(path, 'initialKey'), join(path, 'blobs')];
  const other = others.find((file) => existsSync(file) && (!file.endsWith('-wal') || sizeOf(file) > 0));
  if (other === undefined) return;
  throw new UserError(
    `${database} is empty, but ${other} is there: the database was lost`,
    'Restore a backup (`zoneplane restore`), or move all files away to begin anew.',
  );
}

/** 0 for a file that is not there. Throws a {@link UserError} when this user may not even look. */
export function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    throw unusable(dirname(file), error);
  }
}

function unusable(path: string, error: unknown): UserError {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return new UserError(
        `the data directory ${path} is not writable by this user`,
        `Make the user that runs zoneplane its owner (chown), or name another directory with --data-dir.`,
      );
    case 'ENOENT':
      return new UserError(
        `the data directory ${path} cannot be made: its file system does not allow it (ENOENT)`,
        'Name another directory with --data-dir or ZONEPLANE_DATA_DIR.',
      );
    case 'EROFS':
      return new UserError(
        `the data directory ${path} is on a read-only file system`,
        'Mount a writable volume there, or name another directory with --data-dir.',
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return new UserError(`no space is left for the data directory ${path}`, 'Free space on that file system.');
    case 'ENOTDIR':
    case 'EEXIST':
      return new UserError(
        `the data directory ${path} is not a directory`,
        'Name a directory with --data-dir or ZONEPLANE_DATA_DIR.',
      );
    default:
      return new UserError(`the data directory ${path} cannot be used: ${code ?? String(error)}`);
  }
}

/** The first administrator's key was shown: its file is not needed any more. */
export function forgetInitialKey(directory: string): void {
  rmSync(dataFile(directory, 'initialKey'), { force: true });
}

/** The settings that a running server may tell of itself. */
function toldSettings(settings: Settings): Partial<Settings> {
  const told = SETTINGS.filter(({ secret }) => !secret);
  return Object.fromEntries(told.map(({ key }) => [key, settings[key]])) as Partial<Settings>;
}

/** Describes this process, or the one named. On a full disk the server runs without it. */
export function writeRunning(
  directory: string,
  { settings, ...running }: Omit<Running, 'pid' | 'settings'> & { readonly pid?: number; readonly settings?: Settings },
  log: Logger,
): void {
  try {
    const description = { pid: process.pid, ...running, ...(settings && { settings: toldSettings(settings) }) };
    writeFileSync(dataFile(directory, 'running'), `${JSON.stringify(description)}\n`, { mode: 0o600 });
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'commands do not find this server: its description could not be written');
  }
}

export function removeRunning(directory: string): void {
  rmSync(dataFile(directory, 'running'), { force: true });
}

/** The description of the `serve` that uses this directory, if its process is alive. */
export function readRunning(directory: string): Running | undefined {
  try {
    const running = JSON.parse(readFileSync(dataFile(directory, 'running'), 'utf8')) as Running;
    return isAlive(running.pid) ? running : undefined;
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
