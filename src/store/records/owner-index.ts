/** Indexes that statements name where SQLite would choose another one. */
import type { Store } from '../driver.js';

const shadowed = new WeakSet<Store>();

/** Notes that a view stands in front of the table; a view cannot have an index. */
export function noteShadowed(store: Store): void {
  shadowed.add(store);
}

/** Whether {@link noteShadowed} was called. */
export function isShadowed(store: Store): boolean {
  return shadowed.has(store);
}

/** What follows `FROM record_rows` for the index of all records by owner. */
export function byOwner(store: Store): string {
  return indexedBy(store, 'records_owner');
}

/** The same for the index of proxied records; SQLite would read all records to find their owners in order. */
export function amongProxied(store: Store): string {
  return indexedBy(store, 'records_proxied');
}

/** The same for the index of data, by type. */
export function byType(store: Store): string {
  return indexedBy(store, 'records_data');
}

/** The same for the index of owners with a CNAME. */
export function amongAliases(store: Store): string {
  return indexedBy(store, 'records_cname');
}

function indexedBy(store: Store, index: string): string {
  return isShadowed(store) ? '' : `INDEXED BY ${index}`;
}
