/** The circle of hashes of a zone as a plan will leave it, of which nothing is stored yet. */
import { compareBytes } from '../../../base/bytes.js';
import { ownerText } from '../../../serving/difference.js';
import { writeSignedOwner } from '../../../serving/stored-signatures.js';
import { findHashed, type HashedRow, hashedBefore, someHashedAfter } from '../../../store/dnssec/hashed.js';
import type { Store } from '../../../store/driver.js';
import type { Place } from '../../../store/records/places.js';

export interface PlannedChain {
  add(hash: Uint8Array): void;
  remove(hash: Uint8Array): void;
  hashAfter(hash: Uint8Array): Uint8Array;
  hashedBefore(hash: Uint8Array): HashedRow | undefined;
}

const BEFORE_ALL = new Uint8Array(0);
/** Longer than a hash (SHA-1, 20 octets), and behind all of them. */
const AFTER_ALL = new Uint8Array(21).fill(0xff);
/** A row without its record, which is made when its neighbours are known. */
export const UNSIGNED: Uint8Array = writeSignedOwner({ standing: 'authority', redirects: false, sets: [] });

export function plannedChain(store: Store, zone: Place): PlannedChain {
  /** In order. */
  const added: Uint8Array[] = [];
  const removed = removedRuns(store, zone);

  const storedAfter = (hash: Uint8Array): Uint8Array | undefined => {
    const [row] = someHashedAfter(store, zone, hash, 1);
    const run = row && removed.runOf(row.hash);
    return run ? run.next : row?.hash;
  };
  const next = (hash: Uint8Array): Uint8Array | undefined => {
    const [stored, own] = [storedAfter(hash), added[indexAfter(added, hash)]];
    return stored && own ? (compareBytes(stored, own) < 0 ? stored : own) : (stored ?? own);
  };
  const storedBefore = (hash: Uint8Array): HashedRow | undefined => {
    const row = rowBefore(store, zone, hash) ?? rowBefore(store, zone, AFTER_ALL);
    const run = row && removed.runOf(row.hash);
    if (!run) return row;
    if (run.previous) return run.previous;
    // The circle goes on at its end, where another run may stand.
    const last = rowBefore(store, zone, AFTER_ALL);
    const other = last && removed.runOf(last.hash);
    return other ? other.previous : last;
  };
  return {
    add(hash) {
      removed.delete(hash);
      const at = indexAfter(added, hash);
      if (at === 0 || compareBytes(added[at - 1]!, hash) !== 0) added.splice(at, 0, hash);
    },
    remove(hash) {
      removed.add(hash);
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

/** Stored rows without others between them, which are all removed. */
interface Run {
  /** Of a run that has become a part of another one. */
  joined: Run | undefined;
  hashes: number;
  /** What stands around it; undefined at the ends of the zone. */
  previous: HashedRow | undefined;
  next: Uint8Array | undefined;
}

interface RemovedRuns {
  add(hash: Uint8Array): void;
  delete(hash: Uint8Array): void;
  runOf(hash: Uint8Array): Run | undefined;
}

/** An edit may remove all names of a zone: nobody goes through those that are removed to find the next one that is left. */
function removedRuns(store: Store, zone: Place): RemovedRuns {
  const hashes = new Map<string, Uint8Array>();
  const runs = new Map<string, Run>();

  const whole = (run: Run): Run => {
    let root = run;
    while (root.joined) root = root.joined;
    return root;
  };
  const runOf = (hash: Uint8Array): Run | undefined => {
    const run = runs.get(ownerText(hash));
    return run && whole(run);
  };
  const join = (a: Run, b: Run, ends: Pick<Run, 'previous' | 'next'>): Run => {
    // So the way from a run to the whole one is short.
    const [large, small] = a.hashes >= b.hashes ? [a, b] : [b, a];
    small.joined = large;
    return Object.assign(large, { hashes: a.hashes + b.hashes, ...ends });
  };
  const add = (hash: Uint8Array): void => {
    const text = ownerText(hash);
    // What is not stored has no neighbours there.
    if (runs.has(text) || !findHashed(store, zone, hash)) return;
    const previous = rowBefore(store, zone, hash);
    const next = someHashedAfter(store, zone, hash, 1)[0]?.hash;
    const [before, after] = [previous && runOf(previous.hash), next && runOf(next)];
    let run: Run = { joined: undefined, hashes: 1, previous, next };
    hashes.set(text, hash);
    runs.set(text, run);
    if (before) run = join(before, run, { previous: before.previous, next: run.next });
    if (after) join(run, after, { previous: run.previous, next: after.next });
  };
  return {
    add,
    runOf,
    // A change names each hash once: this happens to nobody who waits.
    delete(hash) {
      if (!hashes.delete(ownerText(hash))) return;
      const left = [...hashes.values()];
      hashes.clear();
      runs.clear();
      for (const other of left) add(other);
    },
  };
}

/** The stored row before a hash; undefined at the beginning of the zone. */
function rowBefore(store: Store, zone: Place, hash: Uint8Array): HashedRow | undefined {
  const row = hashedBefore(store, zone, hash);
  return row && compareBytes(row.hash, hash) < 0 ? row : undefined;
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
