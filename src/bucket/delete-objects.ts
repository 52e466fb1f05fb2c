/** Deletes objects of a bucket, some in each write, so that others get their turn: a thousand of them take 40 ms. */
import { inSlices, nextSlice } from '../base/slices.js';
import type { Store } from '../store/driver.js';
import type { BucketRow } from '../store/objects/buckets.js';
import { findObject } from '../store/objects/objects.js';
import { objectFailure } from './errors.js';
import { type BeforeWrite, isObjectKey } from './object-store.js';
import { type LocalStore, publish, requireOwner, requireSame } from './publish.js';
import { isLocked, requireUnlocked } from './rules/locks.js';

/** Keys of one write. */
const AT_ONCE = 100;

export interface Deletion {
  readonly bucket: number;
  readonly keys: readonly string[];
  /** Called in each write. */
  readonly beforeWrite?: BeforeWrite | undefined;
}

/** A locked object refuses them all. One that is locked while the others go stops the deletion. */
export async function deleteObjects(local: LocalStore, deletion: Deletion): Promise<void> {
  const { bucket, keys } = deletion;
  const owner = requireDeletable(local.store, deletion);
  // The only write finds it by itself.
  if (keys.length > AT_ONCE) {
    await inSlices(local.clock, refuseLocked(local, bucket, keys));
  }
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    if (at > 0) await nextSlice();
    await deleteSome(local, owner, { ...deletion, keys: keys.slice(at, at + AT_ONCE) }, 'refuse');
  }
}

/** Each is deleted or not for itself. Returns why some were not. Throws when the first write fails: then none is deleted. */
export async function deleteEach(local: LocalStore, deletion: Deletion): Promise<ReadonlyMap<string, unknown>> {
  const { keys } = deletion;
  const owner = requireDeletable(local.store, deletion);
  const remaining = new Map<string, unknown>();
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    if (at > 0) await nextSlice();
    try {
      const some = keys.slice(at, at + AT_ONCE);
      const locked = await deleteSome(local, owner, { ...deletion, keys: some }, 'keep');
      for (const key of locked) remaining.set(key, objectFailure('locked'));
    } catch (error) {
      if (at === 0) throw error;
      for (const key of keys.slice(at)) remaining.set(key, error);
      break;
    }
  }
  return remaining;
}

function requireDeletable(store: Store, { bucket, keys }: Deletion): BucketRow {
  if (!keys.every(isObjectKey)) throw objectFailure('badKey');
  return requireOwner(store, bucket);
}

function* refuseLocked({ store, clock }: LocalStore, bucket: number, keys: readonly string[]): Generator<undefined> {
  for (const key of keys) {
    requireUnlocked(store, findObject(store, bucket, key), clock.nowUs());
    yield;
  }
}

/** In one write. Returns the locked ones, which stay. */
function deleteSome(
  local: LocalStore,
  owner: BucketRow,
  { bucket, keys, beforeWrite }: Deletion,
  locked: 'refuse' | 'keep',
): Promise<readonly string[]> {
  const { store, clock } = local;
  return publish(local, (discard) => {
    beforeWrite?.();
    requireSame(store, owner);
    const kept: string[] = [];
    for (const key of keys) {
      const row = findObject(store, bucket, key);
      if (row && locked === 'keep' && isLocked(store, row, clock.nowUs())) kept.push(key);
      else if (row) discard.object(row);
    }
    return kept;
  });
}
