/** Uploads that nobody can see any more are removed in slices: each may have 10,000 parts. */
import type { Clock } from '../../base/clock.js';
import { inWrites } from '../../base/slices.js';
import type { Store } from '../../store/driver.js';
import { goneUpload, removeUploadPartly, uploadOfBucket } from '../../store/objects/uploads.js';

/** Parts that are removed before the clock is read again: they take half a millisecond. */
const REMOVED_AT_ONCE = 100;

interface Where {
  readonly store: Store;
  readonly clock: Clock;
}

/** Uploads whose objects have gone. Their bodies are garbage afterwards. */
export function removeGoneUploads(where: Where): Promise<void> {
  return removeAll(where, () => goneUpload(where.store));
}

/**
 * All uploads of a bucket that is to be deleted, because the deletion of its row would remove them in one write. `require` returns
 * its store number, in each write, and throws unless it may be deleted and has no objects.
 */
export async function removeUploadsOf(where: Where, require: () => number): Promise<void> {
  await removeAll(where, () => uploadOfBucket(where.store, require()));
}

/** `next`: an upload to remove. */
async function removeAll(where: Where, next: () => number | undefined): Promise<void> {
  const removeSome = (): boolean => {
    const seq = next();
    if (seq !== undefined) removeUploadPartly(where.store, seq, REMOVED_AT_ONCE);
    return seq !== undefined;
  };
  const hasMore = (more: boolean): boolean => more;
  await inWrites(where, next() !== undefined, hasMore, removeSome);
}
