/** The copy of a database that goes into a backup. */
import Database from 'better-sqlite3';
import { guard } from './sqlite-failure.js';

/** In the data directory, while a restoration is made. */
export const RESTORING = 'restoring';

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
