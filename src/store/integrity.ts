/** Whether the database file is sound. */
import type { Store } from './driver.js';

/** The first thing SQLite finds wrong with the file; undefined when it is sound. Reads the whole file. */
export function findDamage(store: Store): string | undefined {
  const [first] = store.prepareTuples<[], [string]>('PRAGMA quick_check(1)').all();
  return first?.[0] === 'ok' ? undefined : (first?.[0] ?? 'no answer');
}

/** `wal`, as every start sets it, unless somebody has changed it since. */
export function journalMode(store: Store): string {
  return store.prepareTuples<[], [string]>('PRAGMA journal_mode').get()![0];
}
