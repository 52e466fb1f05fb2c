/** Checks whether the database file is sound. */
import type { Store } from './driver.js';

/** The first problem that SQLite finds in the file; undefined when it is sound. Reads the whole file. */
export function findDamage(store: Store): string | undefined {
  const [first] = store.prepareTuples<[], [string]>('PRAGMA quick_check(1)').all();
  return first?.[0] === 'ok' ? undefined : (first?.[0] ?? 'no answer');
}

/** Whether the database has a table of this name; also for one of another program. */
export function hasTable(store: Store, name: string): boolean {
  return (
    store.prepareTuples<[string], [1]>("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !==
    undefined
  );
}

/** The journal mode: `wal`, which every start sets, unless someone changed it since. */
export function journalMode(store: Store): string {
  return store.prepareTuples<[], [string]>('PRAGMA journal_mode').get()![0];
}
