/** Opens the database file, or creates it, and sets what each handle has set. */
import { closeSync, existsSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { makeDirectories } from '../base/directories.js';
import { UserError } from '../base/errors.js';
import { openFailure } from './sqlite-failure.js';

export interface HandleOptions {
  readonly readonly?: boolean;
  /** Kibibytes of the page cache; a reader of whole zones needs few. */
  readonly cacheKib?: number;
  /** Whether another place keeps what is written here, so that a power failure may take back the last writes. */
  readonly isCopy?: boolean;
}

/** Page caches of a writer and of a reader, in KiB. A bulk import fits into memory until it is large. */
const WRITER_CACHE_KIB = 64 * 1024;
const READER_CACHE_KIB = 16 * 1024;
const MMAP_BYTES = 1 << 30;
/** The write-ahead log is cut back to this size after a checkpoint, in octets. */
const JOURNAL_LIMIT_BYTES = 64 << 20;

/** `path`: of the file, or `:memory:`. Throws a UserError when it cannot be used. */
export function openDatabase(path: string, timeoutMs: number, options: HandleOptions): Database.Database {
  const { readonly = false } = options;
  try {
    const database = new Database(path, { readonly, timeout: timeoutMs });
    setPragmas(database, readonly, options);
    return database;
  } catch (error) {
    throw openFailure(error, path);
  }
}

/** Creates directory and file when they are missing, unless read-only. Throws a UserError when they cannot be used. */
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

function setPragmas(database: Database.Database, readonly: boolean, { isCopy, cacheKib }: HandleOptions): void {
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
