/** Locks on separate files, for processes that share a data directory. */
import { closeSync, existsSync, openSync, truncateSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreBusy, StoreCorrupt } from './failures.js';
import { storeFailure } from './sqlite-failure.js';

/** The operating system frees the lock when the process ends, for whatever reason. */
export interface FileLock {
  release(): void;
}

/** Milliseconds that a sharer waits for whoever looks at the lock just now. */
const LOOK_MS = 5000;

/**
 * Locks the file at `path` for this process alone, and creates it if it is missing; undefined when another process holds the
 * lock.
 */
export function acquireFileLock(path: string): FileLock | undefined {
  return lock(path, 0, 'BEGIN EXCLUSIVE');
}

/** Locks it together with other sharers. */
export function shareFileLock(path: string): FileLock {
  const shared = lock(path, LOOK_MS, 'BEGIN; SELECT count(*) FROM sqlite_schema');
  if (!shared) throw new StoreBusy(`${path} is locked by another process.`);
  return shared;
}

/** Whether anybody holds the lock, alone or shared. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const own = acquireFileLock(path);
  own?.release();
  return own === undefined;
}

function lock(path: string, timeout: number, statement: string): FileLock | undefined {
  // Not where it is there: closing any descriptor of a file frees all locks of this process on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { timeout });
  try {
    take(database, path, statement);
  } catch (error) {
    database.close();
    if (error instanceof StoreBusy) return undefined;
    throw error;
  }
  return { release: () => void database.close() };
}

function take(database: Database.Database, path: string, statement: string): void {
  try {
    // No rows are ever written, so there is nothing to roll back and no need for a journal file beside the lock.
    database.pragma('journal_mode = MEMORY');
    database.exec(statement);
  } catch (error) {
    const failure = storeFailure(error);
    if (!(failure instanceof StoreCorrupt)) throw failure;
    // Whatever octets somebody put there mean nothing. Whoever holds the lock goes on holding it.
    truncateSync(path, 0);
    database.pragma('journal_mode = MEMORY');
    database.exec(statement);
  }
}
