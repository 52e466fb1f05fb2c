import { nextSlice } from '../../base/slices.js';
import type { Store } from '../../store/driver.js';
import { mayHaveWritten } from '../../store/failures.js';
import {
  countOpenUploads,
  countOpenUploadsOf,
  findPart,
  findUpload,
  insertPart,
  insertUpload,
  openUploadsAfter,
  openUploadsBefore,
  partsAfter,
  removeUpload,
  type UploadRow,
} from '../../store/objects/uploads.js';
import { objectFailure } from '../errors.js';
import { type BeforeWrite, isObjectKey } from '../object-store.js';
import {
  type Discard,
  type LocalStore,
  metadataColumns,
  publish,
  requireOctets,
  requireOwner,
  requireSame,
} from '../publish.js';
import { receiveBody, shareBody } from '../receive-body.js';
import { completeUpload } from './complete-upload.js';
import { partItem } from './composed.js';
import { requireOpen } from './find-upload.js';
import type { PartItem, PartOptions, UploadItem, UploadOptions, UploadPlace, Uploads } from './uploads.js';

const MOST_UPLOADS = 1000;
/** Of all buckets: they are counted whenever one begins. */
const MOST_OF_ACCOUNT = 20_000;
/** Uploads that are looked for at a time. */
const AT_ONCE = 10;
/** Parts that are removed in one write. */
const REMOVED_AT_ONCE = 100;

export function createUploads(local: LocalStore): Uploads {
  const { store } = local;
  const completing = new Map<string, Promise<unknown>>();
  return {
    create: (bucket, key, options) => create(local, bucket, key, options),
    putPart: (place, number, body, options) => putPart(local, place, number, body, options),
    complete: (place, parts, options) =>
      oneByOne(completing, place.id, () => completeUpload(local, place, parts, options)),
    async abort(place, beforeWrite) {
      const owner = requireOwner(store, place.bucket);
      await giveUp(local, () => {
        beforeWrite();
        requireSame(store, owner);
        return requireOpen(store, place);
      });
    },
    find: (place) => uploadItem(requireOpen(store, place)),
    parts: (place, after, limit) => partsAfter(store, requireOpen(store, place).seq, after, limit).map(partItem),
    list(bucket, afterKey, afterId, limit) {
      const last = afterId === undefined ? undefined : findUpload(store, afterId)?.seq;
      // Without an upload, all of the key stand before.
      return openUploadsAfter(store, bucket, afterKey, last ?? Number.MAX_SAFE_INTEGER, limit).map(uploadItem);
    },
  };
}

/** Completions of one upload would change where each other's parts begin. */
function oneByOne<Result>(
  running: Map<string, Promise<unknown>>,
  upload: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const last = (running.get(upload) ?? Promise.resolve()).then(work, work);
  running.set(upload, last);
  const leave = (): void => {
    if (running.get(upload) === last) running.delete(upload);
  };
  last.then(leave, leave);
  return last;
}

/** Uploads that began before a time and are open. */
export async function giveUpUploads(local: LocalStore, startedBefore: number): Promise<void> {
  for (;;) {
    const old = openUploadsBefore(local.store, startedBefore, AT_ONCE);
    if (old.length === 0) return;
    for (const { id } of old) await giveUp(local, () => findOpen(local.store, id));
  }
}

/** Gives up to so many open uploads of a bucket up that `isOld` chooses. Returns how many. */
export async function giveUpSome(
  local: LocalStore,
  bucket: number,
  isOld: (upload: UploadRow) => boolean,
  beforeWrite: BeforeWrite,
): Promise<number> {
  const choose = (): UploadRow[] =>
    openUploadsAfter(local.store, bucket, '', Number.MAX_SAFE_INTEGER, MOST_UPLOADS).filter(isOld).slice(0, AT_ONCE);
  const old = choose();
  for (const { id } of old) {
    await giveUp(local, () => {
      beforeWrite();
      const upload = findOpen(local.store, id);
      return upload && isOld(upload) ? upload : undefined;
    });
  }
  return old.length;
}

/** Removes an upload, some parts in each write. `find` is called inside each write; undefined when there is nothing more to do. */
async function giveUp(local: LocalStore, find: () => UploadRow | undefined): Promise<void> {
  const { store } = local;
  const removeSome = (discard: Discard): boolean => {
    const upload = find();
    if (!upload) return false;
    const parts = partsAfter(store, upload.seq, 0, REMOVED_AT_ONCE);
    for (const part of parts) discard.part(part);
    if (parts.length === REMOVED_AT_ONCE) return true;
    removeUpload(store, upload.seq);
    return false;
  };
  while (await publish(local, removeSome)) await nextSlice();
}

function findOpen(store: Store, id: string): UploadRow | undefined {
  const upload = findUpload(store, id);
  return upload?.completed_at === null ? upload : undefined;
}

async function create(local: LocalStore, bucket: number, key: string, options: UploadOptions): Promise<string> {
  const { store, clock, random } = local;
  if (!isObjectKey(key)) throw objectFailure('badKey');
  if (local.most !== Number.POSITIVE_INFINITY) throw objectFailure('noParts');
  const columns = metadataColumns(options);
  const owner = requireOwner(store, bucket);
  const id = Buffer.from(random.bytes(24)).toString('base64url');
  await publish(local, () => {
    options.beforeWrite?.();
    requireSame(store, owner);
    if (countOpenUploads(store, bucket) >= MOST_UPLOADS) throw objectFailure('tooManyUploads', { most: MOST_UPLOADS });
    if (countOpenUploadsOf(store, owner.account) >= MOST_OF_ACCOUNT)
      throw objectFailure('tooManyUploadsInAll', { most: MOST_OF_ACCOUNT });
    requireOctets(store, owner.account, columns.metadata_size);
    const storage_class = options.storageClass ?? owner.storage_class;
    const checksum_type = options.checksumType ?? null;
    insertUpload(store, {
      ...{ id, bucket, key, storage_class, checksum_type },
      ...columns,
      started_at: clock.nowUs(),
    });
  });
  return id;
}

async function putPart(
  local: LocalStore,
  place: UploadPlace,
  number: number,
  body: AsyncIterable<Uint8Array>,
  options: PartOptions,
): Promise<PartItem> {
  const { store, blobs, disk, clock } = local;
  const owner = requireOwner(store, place.bucket);
  requireOpen(store, place);
  // Never in a row: an object is a list of files.
  const received =
    (await shareBody(local, options)) ??
    (await receiveBody(body, blobs, { ...options, httpMetadata: {}, mostInline: -1, disk }));
  let { draft } = received;
  try {
    draft ??= await blobs.draft();
    await draft.publish();
    const { name } = draft;
    return await publish(local, (discard) => {
      options.beforeWrite?.();
      requireSame(store, owner);
      const upload = requireOpen(store, place);
      const before = findPart(store, upload.seq, number);
      requireOctets(store, owner.account, received.size - (before?.size ?? 0));
      if (before) discard.part(before);
      const { size, md5, crc32 } = received;
      const checksum = options.checksum?.() ?? null;
      const row = {
        ...{ upload: upload.seq, number, size, md5, crc32, checksum },
        blob: name,
        uploaded_at: clock.nowUs(),
      };
      insertPart(store, row);
      return partItem(row);
    });
  } catch (error) {
    // Otherwise the row may have been stored, or may be yet. If not, the sweeper finds the body.
    if (!mayHaveWritten(error)) await draft?.discard();
    throw error;
  }
}

function uploadItem({ id, key, storage_class, started_at }: UploadRow): UploadItem {
  return { id, key, storageClass: storage_class, startedAt: started_at };
}
