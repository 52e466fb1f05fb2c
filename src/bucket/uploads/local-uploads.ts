/** Uploads in parts of the local store: each part is a body of its own, and completing one joins them without reading them. */
import { createHash } from 'node:crypto';
import { toHex } from '../../base/bytes.js';
import { inSlices, nextSlice } from '../../base/slices.js';
import { requireRoomFor } from '../../control/rules/quotas.js';
import type { Store } from '../../store/driver.js';
import { mayHaveWritten } from '../../store/failures.js';
import type { BucketRow } from '../../store/objects/buckets.js';
import { findObject, insertObject, type NewObjectRow, type ObjectRow } from '../../store/objects/objects.js';
import {
  countOpenUploads,
  findPart,
  findUpload,
  hasParts,
  insertPart,
  insertUpload,
  octetsOfOpenUploads,
  openUploadsAfter,
  openUploadsBefore,
  type PartRow,
  partsAfter,
  placePart,
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
import type {
  CompleteOptions,
  NamedPart,
  PartChecksum,
  PartItem,
  PartOptions,
  UploadItem,
  UploadOptions,
  UploadPlace,
  Uploads,
} from './uploads.js';

const MOST_UPLOADS = 1000;
/** Octets of parts that are not the last one. */
const LEAST_PART = 5 << 20;
/** Uploads that are looked for at a time. */
const AT_ONCE = 10;
/** Parts that are read at a time; parts that are placed, and parts that are removed, in one write. */
const READ_AT_ONCE = 500;
const PLACED_AT_ONCE = 200;
const REMOVED_AT_ONCE = 100;
/** How often an upload may get other parts while it is completed. */
const ATTEMPTS = 5;

export function createUploads(local: LocalStore): Uploads {
  const { store } = local;
  return {
    create: (bucket, key, options) => create(local, bucket, key, options),
    putPart: (place, number, body, options) => putPart(local, place, number, body, options),
    complete: (place, parts, options) => complete(local, place, parts, options),
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
  const { store } = local;
  const owner = requireOwner(store, place.bucket);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const upload = findAt(store, place);
    const completion: Completion = { local, owner, place, options };
    if (upload.completed_at !== null) return completedBefore(completion, upload);
    const planned = await inSlices(local.clock, plan(store, upload, named, options));
    checkCompletion(completion, planned);
    await prepareParts(completion, planned);
    const made = await publish(local, (discard) => finish(completion, planned, discard));
    if (made) return made;
  }
  throw objectFailure('badPart');
}

interface Completion {
  readonly local: LocalStore;
  readonly owner: BucketRow;
  readonly place: UploadPlace;
  readonly options: CompleteOptions;
}

interface Planned {
  readonly upload: UploadRow;
  readonly parts: readonly PartRow[];
  readonly unnamed: readonly PartRow[];
  readonly size: number;
  readonly md5: Uint8Array;
  readonly checksum: string | null;
}

/** The object that the upload has become. */
function completedBefore({ local: { store }, place }: Completion, { seq }: UploadRow): ObjectItem {
  const existing = findObject(store, place.bucket, place.key);
  if (existing?.upload !== seq) throw objectFailure('noUpload');
  return objectItem(existing);
}

/** The parts that the client names, in its order. Throws for a part that does not exist or is too small. */
function* plan(
  store: Store,
  upload: UploadRow,
  named: readonly NamedPart[],
  { compose }: CompleteOptions,
): Generator<undefined, Planned> {
  const known = new Map<number, PartRow>();
  for (let page = partsAfter(store, upload.seq, 0, READ_AT_ONCE); page.length > 0; ) {
    for (const part of page) known.set(part.number, part);
    yield;
    page = partsAfter(store, upload.seq, page.at(-1)!.number, READ_AT_ONCE);
  }
  const parts: PartRow[] = [];
  const md5 = createHash('md5');
  let size = 0;
  for (const [index, { number, etag }] of named.entries()) {
    const part = known.get(number);
    if (!part || toHex(part.md5) !== etag.toLowerCase()) throw objectFailure('badPart');
    if (part.size < LEAST_PART && index < named.length - 1) throw objectFailure('partTooSmall', { least: LEAST_PART });
    known.delete(number);
    parts.push(part);
    md5.update(part.md5);
    size += part.size;
    yield;
  }
  const checksum = (yield* compose(parts.map(checksumsOf), upload.checksum_type ?? undefined)) ?? null;
  return { upload, parts, unnamed: [...known.values()], size, md5: md5.digest(), checksum };
}

function checksumsOf({ size, checksum }: PartRow): PartChecksum {
  return { size, checksum: checksum ?? undefined };
}

/** Returns the existing object. Throws when it must not be replaced, or the new one is too large. */
function checkCompletion({ local, owner, place, options }: Completion, { size }: Planned): ObjectRow | undefined {
  const { store, clock } = local;
  options.beforeWrite?.();
  requireSame(store, owner);
  const existing = findObject(store, place.bucket, place.key);
  requireUnlocked(store, existing, clock.nowUs());
  refuseUnless(options, existing && objectItem(existing));
  if (size > options.limit) throw objectFailure('tooLarge', { limit: options.limit });
  requireQuotas(store, owner.account, size, existing);
  return existing;
}

/** Removes the parts that are not named, and stores where the others begin. This takes long, and does not change the object. */
async function prepareParts({ local, place, options }: Completion, { upload, parts, unnamed }: Planned): Promise<void> {
  const { store } = local;
  const inWrites = async <Item>(items: readonly Item[], most: number, each: (item: Item, discard: Discard) => void) => {
    for (let at = 0; at < items.length; at += most) {
      await publish(local, (discard) => {
        options.beforeWrite?.();
        if (findAt(store, place).completed_at !== null) return;
        for (const item of items.slice(at, at + most)) each(item, discard);
      });
      await nextSlice();
    }
  };
  await inWrites(unnamed, REMOVED_AT_ONCE, ({ seq, number }, discard) => {
    const part = findPart(store, upload.seq, number);
    if (part?.seq === seq) discard.part(part);
  });
  let first = 0;
  const places: { readonly seq: number; readonly first: number }[] = [];
  for (const part of parts) {
    if (part.first !== first) places.push({ seq: part.seq, first });
    first += part.size;
  }
  await inWrites(places, PLACED_AT_ONCE, ({ seq, first: begins }) => placePart(store, seq, begins));
}

/** Undefined when the upload has got other parts meanwhile. */
function finish(completion: Completion, planned: Planned, discard: Discard): ObjectItem | undefined {
  const { local, place } = completion;
  const { store, clock, random } = local;
  const upload = findAt(store, place);
  if (upload.completed_at !== null) return completedBefore(completion, upload);
  const existing = checkCompletion(completion, planned);
  const { parts, size, md5, checksum } = planned;
  if (!hasParts(store, upload.seq, parts)) return undefined;
  if (existing) discard.object(existing);
  setUploadCompleted(store, upload.seq, clock.nowUs());
  const { storage_class, http_metadata, custom_metadata, metadata_size } = upload;
  const row: NewObjectRow = {
    ...{ bucket: place.bucket, key: place.key, version: random.uuid(), size, uploaded_at: clock.nowUs(), blob: null },
    ...{ storage_class, http_metadata, custom_metadata, metadata_size, md5 },
    ...{ upload: upload.seq, parts: parts.length, crc32: null, checksum },
  };
  return objectItem({ ...row, seq: insertObject(store, row, undefined) });
}

function uploadItem({ id, key, storage_class, started_at }: UploadRow): UploadItem {
  return { id, key, storageClass: storage_class, startedAt: started_at };
}
