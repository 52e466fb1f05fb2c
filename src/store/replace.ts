/** Replaces the whole content of a database by that of another file, while others read it. */
import Database from 'better-sqlite3';
import { guard } from './sqlite-failure.js';

/**
 * Writes all pages of the database file `from` into the one at `path` in one transaction; readers see either the old or the new
 * content. Writers wait for it.
 */
export async function replaceContent(path: string, from: string): Promise<void> {
  const source = guard(() => new Database(from, { readonly: true }));
  try {
    await source.backup(path, { progress: () => Number.MAX_SAFE_INTEGER });
  } finally {
    source.close();
  }
}
