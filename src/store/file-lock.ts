/** An exclusive lock, held by one process at a time, on a separate file. */
import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreBusy } from './failures.js';
import { storeFailure } from './sqlite-failure.js';

/** The operating system frees the lock when the process ends, for whatever reason. */
export interface FileLock {
  release(): void;
}

/** Locks the file at `path` and creates it if it is missing; undefined when another process holds the lock. */
export function acquireFileLock(path: string): FileLock | undefined {
  closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { timeout: 0 });
  try {
    // No rows are ever written, so there is nothing to roll back and no need for a journal file beside the lock.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (storeFailure(error) instanceof StoreBusy) return undefined;
    throw storeFailure(error);
  }
  return { release: () => void database.close() };
}
