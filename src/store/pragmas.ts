/** How a handle uses its database file. */
import type Database from 'better-sqlite3';

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
