/**
 * Bodies on S3, some of which are still files of this machine: those of the time before, or of a backup that was restored. They
 * are read from there until they have been moved.
 */
import type { Store } from '../../store/driver.js';
import { objectsWithFiles } from '../../store/objects/objects.js';
import type { Blobs, FileBlobs } from '../blobs.js';
import { copyOctets } from './compare.js';

export function combineBlobs(files: FileBlobs, shared: Blobs): Blobs {
  return {
    removalDelayMs: shared.removalDelayMs,
    draft: shared.draft,
    // A file of this machine is brought to where the others are.
    share: async (name, clock) => ((await files.sizeOf(name)) === undefined ? shared.share(name, clock) : undefined),
    sizeOf: async (name) => (await files.sizeOf(name)) ?? shared.sizeOf(name),
    open: async (name) => (await files.open(name)) ?? shared.open(name),
    async remove(name) {
      await files.remove(name);
      await shared.remove(name);
    },
    nowMs: shared.nowMs,
    async *list(nowMs) {
      yield* files.list(nowMs);
      yield* shared.list(nowMs);
    },
    close: shared.close,
  };
}

/**
 * Moves the bodies of a database that are files of this machine. Returns how many; a failure leaves the others where they are.
 */
export async function moveBodies(store: Store, files: FileBlobs, shared: Blobs): Promise<number> {
  let moved = 0;
  for (const object of [...objectsWithFiles(store)]) {
    if ((await files.sizeOf(object.blob)) !== object.size || !(await copyOctets(object, files, shared))) continue;
    await files.remove(object.blob);
    moved++;
  }
  return moved;
}
