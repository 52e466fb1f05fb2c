/** Reads the purges that were committed since the last read. */
import type { Store } from '../../store/driver.js';
import { firstPurge, lastPurge, purgesAfter } from '../../store/edge/purges.js';
import type { PurgedItems } from './purged.js';

/** Purges read at once. */
const BATCH = 100;
/**
 * The most octets of purged items to remember before the responses that they concern are removed: some ten thousand items. Beyond twice
 * as many, nobody waits for that.
 */
const MOST_OCTETS = 4 << 20;
/** A zone that has less than such a part of them is not worth a sweep of its own. */
const MUCH = 8;

/**
 * Starts after the existing purges, because a new cache is empty. The returned function reads the purges
 * that were committed since, and returns whether there may be more. `sweep` removes purged responses of a zone, or of all, from the
 * cache.
 */
export function followPurges(
  store: Store,
  purged: PurgedItems,
  sweep: (zone: number | undefined) => Promise<void>,
): () => boolean {
  purged.applyAll(lastPurge(store));
  let isSweeping = false;
  const sweepAndForget = async (): Promise<void> => {
    isSweeping = true;
    while (purged.octets() > MOST_OCTETS) {
      const [{ zone: largest, octets }, upTo] = [purged.largest(), purged.lastSeq()];
      const zone = octets > purged.octets() / MUCH ? largest : undefined;
      await sweep(zone);
      purged.forget(zone, upTo);
    }
    isSweeping = false;
  };
  return () => {
    const seen = purged.lastSeq();
    // Purges that are no longer kept may have concerned anything.
    if (firstPurge(store) > seen + 1) purged.applyAll(lastPurge(store));
    for (const purge of purgesAfter(store, purged.lastSeq(), BATCH)) purged.apply(purge);
    // Whoever purges faster than the cache is swept loses all that is stored for the zone.
    while (purged.octets() > 2 * MOST_OCTETS) purged.forget(purged.largest().zone, purged.lastSeq());
    if (purged.octets() > MOST_OCTETS && !isSweeping) void sweepAndForget();
    return lastPurge(store) > purged.lastSeq();
  };
}
