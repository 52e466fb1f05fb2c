/** The data directory: made with mode 0700, checked to be writable, and the names of what lies in it. */
import { accessSync, chmodSync, constants, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from '../base/errors.js';
import { DATABASE_FILE } from '../store/driver.js';
import type { DnsListener } from './ipc.js';

/** File names in a data directory. */
export const DataFile = {
  database: DATABASE_FILE,
  serveLock: 'serve.lock',
  adminLock: 'admin.lock',
  /** Held while the master key is being replaced. */
  vaultLock: 'vault.lock',
  /** Who is serving, and where; for `healthcheck`, `doctor` and messages. */
  running: 'serve.json',
  initialKey: 'initial-key',
  masterKey: 'master.key',
} as const;

/** What the running `serve` says about itself. */
export interface Running {
  readonly pid: number;
  readonly version: string;
  readonly adminUrl: string;
  readonly dns: readonly DnsListener[];
}

export function dataFile(directory: string, name: keyof typeof DataFile): string {
  return join(directory, DataFile[name]);
}

export interface DataDirectory {
  /** Absolute path. */
  readonly path: string;
  /** It holds no database yet. */
  readonly isNew: boolean;
  /** Permissions allow others than the owner in; only a pre-existing directory can have such. */
  readonly openToOthers: boolean;
}

/** Makes the directory if it is missing. Throws a {@link UserError} when it cannot be written. */
export function prepareDataDirectory(directory: string): DataDirectory {
  const path = resolve(directory);
  try {
    if (mkdirSync(path, { recursive: true, mode: 0o700 })) chmodSync(path, 0o700);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(path, error);
  }
  const { mode } = statSync(path);
  return { path, isNew: !hasDatabase(path), openToOthers: (mode & 0o077) !== 0 };
}

/** The path of an existing data directory with a database. Throws a {@link UserError} when there is none. */
export function findDataDirectory(directory: string): string {
  const path = resolve(directory);
  if (hasDatabase(path)) return path;
  throw new UserError(
    `there is no database in ${path}`,
    'Start `zoneplane serve` once, or say which directory with --data-dir or ZONEPLANE_DATA_DIR.',
  );
}

export function hasDatabase(path: string): boolean {
  return statSync(dataFile(path, 'database'), { throwIfNoEntry: false }) !== undefined;
}

function unusable(path: string, error: unknown): UserError {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return new UserError(
        `the data directory ${path} is not writable by this user`,
        `Give it to the user that runs zoneplane (chown), or name another one with --data-dir.`,
      );
    case 'EROFS':
      return new UserError(
        `the data directory ${path} is on a read-only file system`,
        'Mount a writable volume there, or name another directory with --data-dir.',
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return new UserError(`no space is left for the data directory ${path}`, 'Make room on that file system.');
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

export function writeRunning(directory: string, running: Running): void {
  writeFileSync(dataFile(directory, 'running'), `${JSON.stringify(running)}\n`, { mode: 0o600 });
}

export function removeRunning(directory: string): void {
  rmSync(dataFile(directory, 'running'), { force: true });
}

/** What the `serve` on this directory says of itself, if its process still lives. */
export function readRunning(directory: string): Running | undefined {
  try {
    const running = JSON.parse(readFileSync(dataFile(directory, 'running'), 'utf8')) as Running;
    return isAlive(running.pid) ? running : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
