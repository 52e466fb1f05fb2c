/** A handle on the state of a store at one moment. */
import { dirname } from 'node:path';
import { IN_MEMORY, openStore, type Store } from './driver.js';

export interface Snapshot {
  readonly store: Store;
  close(): void;
}

/**
 * A second, read-only handle that sees the store as it is now until it is closed, for reading that takes many turns of the
 * event loop. Of a store in memory there is only the one handle, which sees what is written meanwhile.
 */
export function openSnapshot(store: Store): Snapshot {
  if (store.path === IN_MEMORY) return { store, close: () => undefined };
  const reader = openStore(dirname(store.path), { readonly: true });
  reader.prepare('BEGIN').run();
  // The state is fixed by the first read.
  reader.prepare('SELECT 1 FROM meta').get();
  return { store: reader, close: () => reader.close() };
}
