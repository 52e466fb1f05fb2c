/** One server a data directory: an exclusive lock, freed by the system however the process ends. */
import { UserError } from '../base/errors.js';
import { acquireFileLock, type FileLock } from '../store/file-lock.js';
import { dataFile, readRunning } from './data-directory.js';

/** Locks a data directory for `serve` or for the admin role. Throws a {@link UserError} when another process has it. */
export function lockDataDirectory(directory: string, name: 'serveLock' | 'adminLock'): FileLock {
  const lock = acquireFileLock(dataFile(directory, name));
  if (lock) return lock;
  const running = readRunning(directory);
  const who = name === 'serveLock' ? 'zoneplane serve' : 'zoneplane admin process';
  const pid = running ? ` (process ${running.pid})` : '';
  throw new UserError(
    `another ${who}${pid} is using the data directory ${directory}`,
    'Stop it first, or give this one a directory of its own with --data-dir.',
  );
}
