/** Completes an upload: its parts become an object without being read. Until that is stored, nothing of the upload is lost. */
import { createHash } from 'node:crypto';
import { toHex } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { inSlices, nextSlice } from '../../base/slices.js';
import type { Store } from '../../store/driver.js';
import type { BucketRow } from '../../store/objects/buckets.js';
import { findObject, insertObject, type NewObjectRow, type ObjectRow } from '../../store/objects/objects.js';
import {
  type Layout,
  layoutOf,
  layoutOfUpload,
  leftOutParts,
  type PartRow,
  partsAfter,
  placePart,
  setUploadCompleted,
  type UploadRow,
} from '../../store/objects/uploads.js';
import { objectFailure } from '../errors.js';
import { objectItem } from '../item.js';
import type { ObjectItem } from '../object-store.js';
import {
  type Discard,
  type LocalStore,
  publish,
  refuseUnless,
  requireOwner,
  requireQuotas,
  requireSame,
} from '../publish.js';
import { requireUnlocked } from '../rules/locks.js';
import { findAt } from './find-upload.js';
import type { CompleteOptions, NamedPart, PartChecksum, UploadPlace } from './uploads.js';

/** Octets of parts that are not the last one. */
const LEAST_PART = 5 << 20;
/** Parts that are read at a time; parts that are placed, and parts that are removed, in one write. */
const READ_AT_ONCE = 500;
const PLACED_AT_ONCE = 200;
const REMOVED_AT_ONCE = 100;
/** How often an upload may get other parts while it is completed. */
const ATTEMPTS = 5;

export async function completeUpload(
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
    checkCompletion(completion, upload, planned);
    await placeParts(completion, planned);
    const made = await publish(local, (discard) => finish(completion, planned, discard));
    if (!made) continue;
    // The object is there, whatever becomes of the others: the sweeper removes them, too.
    await removeLeftOut(local, upload.seq).catch((error: unknown) => {
      local.log.warn({ reason: messageOf(error) }, 'parts that an upload was completed without were not removed');
    });
    return made;
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
  readonly parts: readonly PartRow[];
  readonly unnamed: readonly PartRow[];
  readonly layout: Layout;
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
  const layout = yield* layoutOf(parts);
  return { parts, unnamed: [...known.values()], layout, size, md5: md5.digest(), checksum };
}

function checksumsOf({ size, checksum }: PartRow): PartChecksum {
  return { size, checksum: checksum ?? undefined };
}

/** Returns the existing object. Throws when it must not be replaced, or the new one is too large. */
function checkCompletion(
  { local, owner, place, options }: Completion,
  upload: UploadRow,
  { size }: Planned,
): ObjectRow | undefined {
  const { store, clock } = local;
  options.beforeWrite?.();
  requireSame(store, owner);
  const existing = findObject(store, place.bucket, place.key);
  requireUnlocked(store, existing, clock.nowUs());
  refuseUnless(options, existing && objectItem(existing));
  if (size > options.limit) throw objectFailure('tooLarge', { limit: options.limit });
  // Its parts and metadata count already.
  requireQuotas(store, owner.account, size - upload.size, existing);
  return existing;
}

/** Stores where the named parts begin, and that the others are left out. This takes long, changes no object, and loses nothing. */
async function placeParts({ local, place, options }: Completion, { parts, unnamed }: Planned): Promise<void> {
  const { store } = local;
  const places: { readonly seq: number; readonly first: number | undefined }[] = [];
  for (const part of unnamed) if (part.first >= 0) places.push({ seq: part.seq, first: undefined });
  let first = 0;
  for (const part of parts) {
    if (part.first !== first) places.push({ seq: part.seq, first });
    first += part.size;
  }
  for (let at = 0; at < places.length; at += PLACED_AT_ONCE) {
    await publish(local, () => {
      options.beforeWrite?.();
      if (findAt(store, place).completed_at !== null) return;
      for (const { seq, first: begins } of places.slice(at, at + PLACED_AT_ONCE)) placePart(store, seq, begins);
    });
    await nextSlice();
  }
}

/** Undefined when the upload has got other parts meanwhile. */
function finish(completion: Completion, planned: Planned, discard: Discard): ObjectItem | undefined {
  const { local, place } = completion;
  const { store, clock, random } = local;
  const upload = findAt(store, place);
  if (upload.completed_at !== null) return completedBefore(completion, upload);
  const existing = checkCompletion(completion, upload, planned);
  const { parts, size, md5, checksum, layout } = planned;
  if (layoutOfUpload(store, upload.seq) !== layout) return undefined;
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

/** Removes the parts that an upload, or any upload, was completed without, some in each write. */
export async function removeLeftOut(local: LocalStore, upload?: number): Promise<void> {
  const find = (most: number): PartRow[] => leftOutParts(local.store, upload, most);
  const removeSome = (discard: Discard): void => {
    for (const part of find(REMOVED_AT_ONCE)) discard.part(part);
  };
  while (find(1).length > 0) {
    await publish(local, removeSome);
    await nextSlice();
  }
}
