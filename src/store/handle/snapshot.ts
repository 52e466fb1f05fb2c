/** A handle on the state of a store at one point in time. */
import { dirname } from 'node:path';
import { IN_MEMORY, openStore, type Store } from '../driver.js';

export interface Snapshot {
  readonly store: Store;
  close(): void;
}

/**
 * Opens a second, read-only handle that sees the current state until it is closed, for reading over many turns of the
 * event loop. For a store in memory it returns the same handle, which also sees later writes.
 */
export function openSnapshot(store: Store): Snapshot {
  if (store.path === IN_MEMORY) return { store, close: () => undefined };
  const reader = openStore(dirname(store.path), { readonly: true });
  reader.prepare('BEGIN').run();
  // The first read fixes the state.
  reader.prepare('SELECT 1 FROM meta').get();
  return { store: reader, close: () => reader.close() };
}

/** Opens a second, read-only handle, which sees what is written later, too. Not for a store in memory. */
export function openReader(store: Store): Snapshot {
  const reader = openStore(dirname(store.path), { readonly: true });
  return { store: reader, close: () => reader.close() };
}
