/**
 * `serve --take-over`: a new server takes the place of the one that runs in the same data directory. Its DNS process
 * serves beside the old one first, so that every question is answered; then the old server is asked to stop.
 */
import { type Clock, sleep, steadyMs } from '../../base/clock.js';
import { UserError } from '../../base/errors.js';
import { acquireFileLock, type FileLock } from '../../store/file-lock.js';
import { dataFile, type Running, readRunning } from '../process/data-directory.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS } from '../process/limits.js';

/** Milliseconds between two attempts to take the lock. */
const LOOK_MS = 20;
/** The processes of the predecessor finish one after the other. */
const LIMIT_MS = 2 * (DRAIN_LIMIT_MS + KILL_GRACE_MS);

/** The server that runs in the directory; undefined when none runs there that could be replaced. */
export function findPredecessor(directory: string): Running | undefined {
  const lock = acquireFileLock(dataFile(directory, 'serveLock'));
  if (!lock) return readRunning(directory);
  lock.release();
  return undefined;
}

/** Asks the predecessor to stop. Resolves with its lock; throws a {@link UserError} when it does not stop in time. */
export async function relieve(directory: string, { pid }: Running, clock: Clock): Promise<FileLock> {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') {
      throw new UserError(`process ${pid} belongs to another user and cannot be replaced`, 'Run this as that user.');
    }
  }
  for (const endMs = steadyMs(clock) + LIMIT_MS; steadyMs(clock) < endMs; await sleep(LOOK_MS)) {
    const lock = acquireFileLock(dataFile(directory, 'serveLock'));
    if (lock) return lock;
  }
  throw new UserError(`the server that runs (process ${pid}) did not stop`, `Look at its log, or end it with kill -9.`);
}
