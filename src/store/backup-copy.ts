/** The copy of a database that goes into a backup. */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { UserError } from '../base/errors.js';
import { guard } from './sqlite-failure.js';

/**
 * Completes a copy: it says when it was made, milliseconds since 1970, and can be read where nothing can be written, since it
 * needs no write-ahead log.
 */
export function completeCopy(path: string, madeAtMs: number): void {
  guard(() => {
    const database = new Database(path, { fileMustExist: true });
    try {
      database.pragma('journal_mode = DELETE');
      database
        .prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
        .run('backup_made_at', madeAtMs);
    } finally {
      database.close();
    }
  });
}

/** Copies an open database into a new file. Throws a UserError when that fails, or the file is there. */
export async function copyInto(database: Database.Database, path: string): Promise<void> {
  if (existsSync(path)) {
    throw new UserError(`${path} exists already.`, 'Choose a new file name; backups never overwrite.');
  }
  const draft = `${path}.partial`;
  try {
    closeSync(openSync(draft, 'w', 0o600));
    // All pages in one step: SQLite begins anew when somebody writes between two, and would never end beside a busy server.
    await database.backup(draft, { progress: () => Number.MAX_SAFE_INTEGER });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new UserError(`The backup to ${path} failed: ${(error as Error).message}`, 'Check the disk and try again.');
  }
}
