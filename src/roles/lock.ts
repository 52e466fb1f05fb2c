/** One server for each data directory: an exclusive lock, which the system frees however the process ends. */
import { sleep } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { acquireFileLock, type FileLock } from '../store/file-lock.js';
import { dataFile, readRunning } from './process/data-directory.js';

/** Milliseconds between two looks at a lock that is waited for. */
const LOOK_MS = 50;

/**
 * Locks a data directory for `serve` or for the admin role. Throws a {@link UserError} when another process holds the
 * lock.
 */
export function lockDataDirectory(directory: string, name: 'serveLock' | 'adminLock'): FileLock {
  const lock = acquireFileLock(dataFile(directory, name));
  if (lock) return lock;
  const running = readRunning(directory);
  const who = name === 'serveLock' ? 'zoneplane serve' : 'zoneplane admin process';
  const pid = running ? ` (process ${running.pid})` : '';
  throw new UserError(
    `another ${who}${pid} is using the data directory ${directory}`,
    'Stop it first, or use another directory for this one with --data-dir.',
  );
}

/**
 * Waits until the admin process that a killed supervisor left behind has gone. When that takes longer than `limitMs`
 * milliseconds, the new admin process says what is in the way.
 */
export async function outlastPredecessor(directory: string, limitMs: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += LOOK_MS) {
    const lock = acquireFileLock(dataFile(directory, 'adminLock'));
    if (lock) {
      lock.release();
      return;
    }
    await sleep(LOOK_MS);
  }
}
