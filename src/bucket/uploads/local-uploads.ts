/** Uploads in parts of the local store: each part is a body of its own, and completing one joins them without reading them. */
import { createHash } from 'node:crypto';
import { toHex } from '../../base/bytes.js';
import { requireRoomFor } from '../../control/rules/quotas.js';
import type { Store } from '../../store/driver.js';
import { mayHaveWritten } from '../../store/failures.js';
import { findObject, insertObject, type NewObjectRow } from '../../store/objects/objects.js';
import {
  countOpenUploads,
  findPart,
  findUpload,
  insertPart,
  insertUpload,
  octetsOfOpenUploads,
  openUploadsAfter,
  openUploadsBefore,
  type PartRow,
  partsAfter,
  removePart,
  removeUpload,
  setUploadCompleted,
  type UploadRow,
} from '../../store/objects/uploads.js';
import { objectFailure } from '../errors.js';
import { objectItem } from '../item.js';
import { type BeforeWrite, isObjectKey, type ObjectItem } from '../object-store.js';
import {
  type Discard,
  type LocalStore,
  metadataColumns,
  publish,
  refuseUnless,
  requireOwner,
  requireQuotas,
  requireSame,
} from '../publish.js';
import { receiveBody, shareBody } from '../receive-body.js';
import { requireUnlocked } from '../rules/locks.js';
import { partItem } from './composed.js';
import {
  type CompleteOptions,
  MOST_PARTS,
  type NamedPart,
  type PartItem,
  type PartOptions,
  type UploadItem,
  type UploadOptions,
  type UploadPlace,
  type Uploads,
} from './uploads.js';

const MOST_UPLOADS = 1000;
/** Octets of parts that are not the last one. */
const LEAST_PART = 5 << 20;
/** Uploads that are given up in one write. */
const AT_ONCE = 10;

export function createUploads(local: LocalStore): Uploads {
  const { store } = local;
  return {
    create: (bucket, key, options) => create(local, bucket, key, options),
    putPart: (place, number, body, options) => putPart(local, place, number, body, options),
    complete: (place, parts, options) => complete(local, place, parts, options),
    async abort(place, beforeWrite) {
      const owner = requireOwner(store, place.bucket);
      await publish(local, (discard) => {
        beforeWrite();
        requireSame(store, owner);
        giveUp(store, requireOpen(store, place), discard);
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

/** Uploads that began before a time and are open. */
export async function giveUpUploads(local: LocalStore, startedBefore: number): Promise<void> {
  for (;;) {
    const old = openUploadsBefore(local.store, startedBefore, AT_ONCE);
    if (old.length === 0) return;
    await publish(local, (discard) => {
      for (const upload of old) giveUp(local.store, upload, discard);
    });
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
  if (choose().length === 0) return 0;
  return publish(local, (discard) => {
    beforeWrite();
    const old = choose();
    for (const upload of old) giveUp(local.store, upload, discard);
    return old.length;
  });
}

function giveUp(store: Store, upload: UploadRow, discard: Discard): void {
  for (const part of partsAfter(store, upload.seq, 0, MOST_PARTS)) discard.part(part);
  removeUpload(store, upload.seq);
}

/** Throws for an upload of another key or bucket, too. */
function findAt(store: Store, { bucket, key, id }: UploadPlace): UploadRow {
  const upload = findUpload(store, id);
  if (upload?.bucket !== bucket || upload.key !== key) throw objectFailure('noUpload');
  return upload;
}

function requireOpen(store: Store, place: UploadPlace): UploadRow {
  const upload = findAt(store, place);
  if (upload.completed_at !== null) throw objectFailure('noUpload');
  return upload;
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
      const more = octetsOfOpenUploads(store, owner.account) - (before?.size ?? 0) + received.size;
      requireRoomFor({ store }, owner.account, 'octets', more);
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

async function complete(
  local: LocalStore,
  place: UploadPlace,
  named: readonly NamedPart[],
  options: CompleteOptions,
): Promise<ObjectItem> {
  const { store, clock, random } = local;
  const owner = requireOwner(store, place.bucket);
  return publish(local, (discard) => {
    options.beforeWrite?.();
    requireSame(store, owner);
    const upload = findAt(store, place);
    const existing = findObject(store, place.bucket, place.key);
    if (upload.completed_at !== null) {
      if (existing?.upload !== upload.seq) throw objectFailure('noUpload');
      return objectItem(existing);
    }
    requireUnlocked(store, existing, clock.nowUs());
    refuseUnless(options, existing && objectItem(existing));
    const parts = chooseParts(store, upload, named);
    const size = parts.reduce((sum, part) => sum + part.size, 0);
    if (size > options.limit) throw objectFailure('tooLarge', { limit: options.limit });
    requireQuotas(store, owner.account, size, existing);
    if (existing) discard.object(existing);
    setUploadCompleted(store, upload.seq, clock.nowUs());
    const { storage_class, http_metadata, custom_metadata, metadata_size } = upload;
    const row: NewObjectRow = {
      ...{ bucket: place.bucket, key: place.key, version: random.uuid(), size, uploaded_at: clock.nowUs(), blob: null },
      ...{ storage_class, http_metadata, custom_metadata, metadata_size },
      md5: parts.reduce((hash, { md5 }) => hash.update(md5), createHash('md5')).digest(),
      ...{ upload: upload.seq, parts: parts.length, crc32: null },
      checksum: options.compose(parts.map(partItem), upload.checksum_type ?? undefined) ?? null,
    };
    return objectItem({ ...row, seq: insertObject(store, row, undefined) });
  });
}

/** The parts that the client names, in its order; the others are removed. Throws for one that is not there, and small ones. */
function chooseParts(store: Store, { seq }: UploadRow, named: readonly NamedPart[]): PartRow[] {
  const known = new Map(partsAfter(store, seq, 0, MOST_PARTS).map((part) => [part.number, part]));
  const chosen = named.map(({ number, etag }, index) => {
    const part = known.get(number);
    if (!part || toHex(part.md5) !== etag.toLowerCase()) throw objectFailure('badPart');
    if (part.size < LEAST_PART && index < named.length - 1) throw objectFailure('partTooSmall', { least: LEAST_PART });
    known.delete(number);
    return part;
  });
  // A sweep removes their bodies.
  for (const part of known.values()) removePart(store, part.seq);
  return chosen;
}

function uploadItem({ id, key, storage_class, started_at }: UploadRow): UploadItem {
  return { id, key, storageClass: storage_class, startedAt: started_at };
}
