/** Reads the purges that were committed since the last read. */
import type { Store } from '../../store/driver.js';
import { firstPurge, lastPurge, purgesAfter } from '../../store/edge/purges.js';
import type { PurgedItems } from './purged.js';

/** Purges read at once. */
const BATCH = 100;
/** The most purged items to remember before the responses they concern are removed. */
const MOST_ITEMS = 20_000;

/**
 * Starts after the existing purges, because a new cache is empty. The returned function reads the purges
 * that were committed since, and returns whether there may be more. `sweep` removes purged responses from the cache.
 */
export function followPurges(store: Store, purged: PurgedItems, sweep: () => void): () => boolean {
  purged.applyAll(lastPurge(store));
  return () => {
    const seen = purged.lastSeq();
    // Purges that are no longer kept may have concerned anything.
    if (firstPurge(store) > seen + 1) purged.applyAll(lastPurge(store));
    const purges = purgesAfter(store, purged.lastSeq(), BATCH);
    for (const purge of purges) purged.apply(purge);
    if (purged.size() > MOST_ITEMS) {
      sweep();
      purged.forget();
    }
    return purges.length === BATCH;
  };
}
