/** Where the large bodies of objects are, as the settings say. The package for S3 is loaded only where it is used. */

import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { type Blobs, createBlobs, type FileBlobs } from '../../bucket/blobs.js';
import { combineBlobs, moveBodies } from '../../bucket/bodies/combined-blobs.js';
import { createLocalStore } from '../../bucket/local-store.js';
import type { UploadingStore } from '../../bucket/uploads/uploads.js';
import type { Settings } from '../../config/schema.js';
import type { DiskRoom } from '../../store/disk-room.js';
import type { Store } from '../../store/driver.js';
import type { RoleContext } from '../process/role.js';

export interface ObjectBodies {
  /** For reading and writing. */
  readonly blobs: Blobs | FileBlobs;
  /** Files of this machine. */
  readonly files: FileBlobs;
  /** On S3; undefined when all bodies are files. */
  readonly shared: Blobs | undefined;
}

type BodySettings = Pick<Settings, 'dataDir' | 'objects'>;

/** Throws a UserError when the address of S3 is none. Nothing is asked of S3 yet. */
export async function openBodies({ dataDir, objects }: BodySettings, log: Logger): Promise<ObjectBodies> {
  const files = createBlobs(dataDir, systemRandom);
  if (objects === undefined) return { blobs: files, files, shared: undefined };
  const { createS3Blobs } = await import('../../bucket/s3/s3-blobs.js');
  const shared = createS3Blobs({ address: objects, random: systemRandom, log });
  return { blobs: combineBlobs(files, shared), files, shared };
}

/** Throws a UserError when bodies are to be on S3, and the bucket there cannot be used. */
export async function requireBodies({ objects }: BodySettings, log: Logger): Promise<void> {
  if (objects === undefined) return;
  const { requireS3 } = await import('../../bucket/s3/s3-blobs.js');
  await requireS3({ address: objects, random: systemRandom, log });
}

/** Objects of buckets. `isShared`: in a cluster, where large bodies need a place that all nodes reach. */
export async function startObjects(
  { settings, clock, log }: Pick<RoleContext, 'settings' | 'clock' | 'log'>,
  store: Store,
  isShared: boolean,
  lifecycle: Lifecycle,
  disk: DiskRoom,
): Promise<UploadingStore> {
  const { blobs, files, shared } = await openBodies(settings, log);
  const options = { store, clock, random: systemRandom, log, isShared, disk };
  if (!shared) return createLocalStore(options);
  lifecycle.own('bodies of objects', shared, (part) => part.close());
  const objects = createLocalStore({ ...options, blobs });
  return {
    ...objects,
    async sweep() {
      const moved = await moveBodies(store, files, shared);
      if (moved > 0) log.info({ moved }, 'bodies of objects that were files are on S3 now');
      return objects.sweep();
    },
  };
}
