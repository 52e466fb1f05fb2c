/** An exclusive lock on a file of its own, for one process at a time. */
import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreBusy } from './failures.js';
import { storeFailure } from './sqlite-failure.js';

/** The system frees the lock when the process ends, however it ends. */
export interface FileLock {
  release(): void;
}

/** Locks the file at `path`, which is made if it is missing; undefined when another process holds the lock. */
export function acquireFileLock(path: string): FileLock | undefined {
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { timeout: 0 });
  try {
    // No rows are ever written: nothing to roll back, no journal file beside the lock.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (storeFailure(error) instanceof StoreBusy) return undefined;
    throw storeFailure(error);
  }
  return { release: () => void database.close() };
}
