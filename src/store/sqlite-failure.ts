/** Turns SQLite's errors into typed ones. */
import Database from 'better-sqlite3';
import { UserError } from '../base/errors.js';
import { StoreBusy, StoreConflict, StoreCorrupt, StoreFull, StoreRefused, WriteUnconfirmed } from './failures.js';

/** Runs an SQLite operation and throws its failure in typed form. */
export function guard<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw storeFailure(error);
  }
}

/** A quota (EDQUOT), a limit on the size of files (EFBIG) and a failing disk are the same to SQLite: it says SQLITE_FULL for ENOSPC alone. */
const REFUSED_WRITES: ReadonlySet<string> = new Set([
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_TRUNCATE',
  'SQLITE_IOERR_SHMSIZE',
]);

const UNCONFIRMED_WRITES: ReadonlySet<string> = new Set(['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC']);

/** The typed form of an SQLite failure; any other value is returned unchanged. */
export function storeFailure(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  if (code.startsWith('SQLITE_CONSTRAINT')) return new StoreConflict(message);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return new StoreBusy();
  if (code === 'SQLITE_FULL') return new StoreFull();
  if (REFUSED_WRITES.has(code)) return new StoreRefused(code);
  if (UNCONFIRMED_WRITES.has(code)) return new WriteUnconfirmed(code);
  if (code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_IOERR')) {
    return new StoreCorrupt(message);
  }
  if (code.startsWith('SQLITE_READONLY')) {
    return new UserError(
      'The database cannot be written to.',
      'Check the owner and mode of the data directory and of the files in it.',
    );
  }
  return error;
}

/** Why the database at `path` cannot be opened. */
export function openFailure(error: unknown, path: string): unknown {
  const failure = storeFailure(error);
  if (failure instanceof StoreCorrupt) {
    return new UserError(`${path} is not a usable database: ${failure.message}`, 'Restore it from a backup.');
  }
  if (failure instanceof StoreBusy) {
    return new UserError(`${path} is locked by another process.`, 'Wait for it to finish, or stop it, and try again.');
  }
  if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CANTOPEN')) {
    return new UserError(`${path} cannot be opened.`, 'Check the owner and mode of the data directory and its files.');
  }
  return failure;
}
