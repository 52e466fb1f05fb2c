/** The circle of hashes of a zone as a plan will leave it, of which nothing is stored yet. */
import { compareBytes } from '../../../base/bytes.js';
import { ownerText } from '../../../serving/difference.js';
import { writeSignedOwner } from '../../../serving/stored-signatures.js';
import { type HashedRow, hashedBefore, someHashedAfter } from '../../../store/dnssec/hashed.js';
import type { Store } from '../../../store/driver.js';
import type { Place } from '../../../store/records/places.js';

export interface PlannedChain {
  add(hash: Uint8Array): void;
  remove(hash: Uint8Array): void;
  hashAfter(hash: Uint8Array): Uint8Array;
  hashedBefore(hash: Uint8Array): HashedRow | undefined;
}

const BEFORE_ALL = new Uint8Array(0);
/** A row without its record, which is made when its neighbours are known. */
export const UNSIGNED: Uint8Array = writeSignedOwner({ standing: 'authority', redirects: false, sets: [] });

export function plannedChain(store: Store, zone: Place): PlannedChain {
  /** In order. */
  const added: Uint8Array[] = [];
  const removed = new Set<string>();

  const storedAfter = (hash: Uint8Array): Uint8Array | undefined => {
    for (let from = hash; ; ) {
      const [row] = someHashedAfter(store, zone, from, 1);
      if (!row || !removed.has(ownerText(row.hash))) return row?.hash;
      from = row.hash;
    }
  };
  const next = (hash: Uint8Array): Uint8Array | undefined => {
    const [stored, own] = [storedAfter(hash), added[indexAfter(added, hash)]];
    return stored && own ? (compareBytes(stored, own) < 0 ? stored : own) : (stored ?? own);
  };
  const storedBefore = (hash: Uint8Array): HashedRow | undefined => {
    let row = hashedBefore(store, zone, hash);
    // Ends when all have gone: then it comes to the same again.
    for (let left = removed.size; row && removed.has(ownerText(row.hash)); left--) {
      if (left === 0) return undefined;
      row = hashedBefore(store, zone, row.hash);
    }
    return row;
  };
  return {
    add(hash) {
      removed.delete(ownerText(hash));
      const at = indexAfter(added, hash);
      if (at === 0 || compareBytes(added[at - 1]!, hash) !== 0) added.splice(at, 0, hash);
    },
    remove(hash) {
      removed.add(ownerText(hash));
      const at = indexAfter(added, hash) - 1;
      if (at >= 0 && compareBytes(added[at]!, hash) === 0) added.splice(at, 1);
    },
    hashAfter: (hash) => next(hash) ?? next(BEFORE_ALL)!,
    hashedBefore(hash) {
      const stored = storedBefore(hash);
      const at = indexAfter(added, hash) - 1;
      const before = added[at >= 0 && compareBytes(added[at]!, hash) === 0 ? at - 1 : at] ?? added.at(-1);
      const own = before && { hash: before, owner_key: BEFORE_ALL, octets: UNSIGNED };
      return stored && own ? nearer(hash, stored, own) : (stored ?? own);
    },
  };
}

/** The one that comes later on the way around the circle to the hash. */
function nearer(hash: Uint8Array, a: HashedRow, b: HashedRow): HashedRow {
  const [isBelow, isOtherBelow] = [a, b].map((row) => compareBytes(row.hash, hash) < 0);
  if (isBelow !== isOtherBelow) return isBelow ? a : b;
  return compareBytes(a.hash, b.hash) > 0 ? a : b;
}

/** Index of the first one behind a hash. */
function indexAfter(hashes: readonly Uint8Array[], hash: Uint8Array): number {
  let [low, high] = [0, hashes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(hashes[middle]!, hash) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
