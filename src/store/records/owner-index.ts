/** The index by owner, which statements name where SQLite would choose another one. */
import type { Store } from '../driver.js';

const shadowed = new WeakSet<Store>();

/** Notes that a view stands in front of the table; a view cannot have an index. */
export function noteShadowed(store: Store): void {
  shadowed.add(store);
}

/** What follows `FROM record_rows`. */
export function byOwner(store: Store): string {
  return shadowed.has(store) ? '' : 'INDEXED BY records_owner';
}
