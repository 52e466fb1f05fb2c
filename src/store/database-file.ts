/** The file of a database: made if it is missing, and how a handle uses it. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { makeDirectories } from '../base/directories.js';
import { UserError } from '../base/errors.js';

/** In the data directory, while a restoration is made. */
export const RESTORING = 'restoring';
/** Page caches of a writer and of a reader, in KiB. A bulk import fits into memory until it is large. */
const WRITER_CACHE_KIB = 64 * 1024;
const READER_CACHE_KIB = 16 * 1024;
const MMAP_BYTES = 1 << 30;
/** The write-ahead log is cut back to this size after a checkpoint, in octets. */
const JOURNAL_LIMIT_BYTES = 64 << 20;

interface PragmaOptions {
  readonly isCopy?: boolean;
  readonly cacheKib?: number;
}

export function setPragmas(database: Database.Database, readonly: boolean, { isCopy, cacheKib }: PragmaOptions): void {
  if (!readonly) {
    database.pragma('journal_mode = WAL');
    // An acknowledged change survives a power failure.
    database.pragma(`synchronous = ${isCopy ? 'NORMAL' : 'FULL'}`);
    database.pragma(`journal_size_limit = ${JOURNAL_LIMIT_BYTES}`);
  }
  database.pragma('foreign_keys = ON');
  database.pragma(`cache_size = -${cacheKib ?? (readonly ? READER_CACHE_KIB : WRITER_CACHE_KIB)}`);
  // A reader reads the file once; mapped pages would stay in its memory.
  database.pragma(`mmap_size = ${readonly ? 0 : MMAP_BYTES}`);
  database.pragma('temp_store = MEMORY');
  database.pragma('trusted_schema = OFF');
  // Also checks that the file is a database.
  database.pragma('schema_version');
}

/** Creates the directory and the file when they are missing. Throws a UserError. */
export function preparePath(dataDir: string, path: string, readonly: boolean): void {
  try {
    if (existsSync(path)) return;
    if (readonly) {
      throw new UserError(
        `There is no database in ${dataDir}.`,
        'Start `zoneplane serve` once, or check the data directory.',
      );
    }
    makeDirectories(dataDir, 0o700);
    // Created here so that no other user can read it; SQLite gives its side files the same mode.
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `The data directory ${dataDir} cannot be used: ${(error as Error).message}`,
      'Check that it is a directory and that this user may write to it.',
    );
  }
}

/** Octets of the database file on disk, including its write-ahead log; 0 in memory. */
export function storeSize({ path: file }: { readonly path: string }): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0);
}
