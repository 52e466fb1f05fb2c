/** A counter that every write increases by one, so that a lost or repeated write shows. */
import type { Store } from '../../src/store/driver.js';
import { findMeta, putMeta } from '../../src/store/meta.js';

export const count = (store: Store): number => Number(findMeta(store, 'last_account') ?? 0);

/** Resolves with the new count. */
export const increase = (store: Store): Promise<number> =>
  store.write(() => {
    putMeta(store, 'last_account', count(store) + 1);
    return count(store);
  });
