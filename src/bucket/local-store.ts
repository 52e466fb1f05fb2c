/**
 * Objects: metadata and small bodies in SQLite, large bodies as files (blobs.ts) or on S3 (s3/). An upload becomes visible in
 * one transaction, after its body is durable. Several processes and nodes may do this at once: writes have one order, names of
 * bodies are random, and a process removes only its own bodies and old ones.
 */

import { dirname } from 'node:path';
import { createBodyPace } from '../base/pace.js';
import { lacksOpenFiles } from '../base/process/open-files.js';
import { inWrites } from '../base/slices.js';
import { ENDLESS_ROOM } from '../store/disk-room.js';
import { mayHaveWritten } from '../store/failures.js';
import { type BucketRow, findBucket } from '../store/objects/buckets.js';
import { areBodiesHeld } from '../store/objects/held-bodies.js';
import {
  contentsOfObject,
  findObject,
  forgetGarbage,
  garbageBlobs,
  insertObject,
  isBlobUsed,
  type NewObjectRow,
  noteGarbage,
} from '../store/objects/objects.js';
import { createBlobs } from './blobs.js';
import { BodyDamaged } from './bodies/checked-body.js';
import { createOpenBodies } from './bodies/open-bodies.js';
import { inTurns } from './bodies/pieces.js';
import { verifyShare } from './bodies/verify-round.js';
import { deleteEach, deleteObjects } from './delete-objects.js';
import { objectFailure } from './errors.js';
import { objectItem } from './item.js';
import { isObjectKey, type ObjectItem, type OpenObject, type Pieces, type PutOptions } from './object-store.js';
import { nameOf, openBlob, openHeld, openInline, openPieces } from './open-object.js';
import {
  type Discard,
  GARBAGE_BATCH,
  type LocalStore,
  type LocalStoreOptions,
  metadataColumns,
  publish,
  refuseUnless,
  requireOwner,
  requireQuotas,
  requireSame,
} from './publish.js';
import { MOST_INLINE, type ReceivedBody, receiveBody, shareBody } from './receive-body.js';
import { UPLOAD_AGE } from './rules/lifecycle.js';
import { requireUnlocked } from './rules/locks.js';
import { sweepByRules } from './rules/sweep.js';
import { createHeldObjects } from './small/held-objects.js';
import { removeLeftOut } from './uploads/complete-upload.js';
import { openComposed, partOfObject, partsOfObject } from './uploads/composed.js';
import { createUploads, giveUpUploads } from './uploads/local-uploads.js';
import { removeGoneUploads } from './uploads/remove-uploads.js';
import type { UploadingStore } from './uploads/uploads.js';

/** The largest body in the rows of a cluster that has another place for bodies, in octets. */
const MOST_INLINE_SHARED = 4096;
/** How often opening is retried when the object is replaced between reading its row and opening its file. */
const MOST_REPLACEMENTS = 100;
/** Pieces of all bodies that are read in a turn of the event loop. */
const PIECES_A_TURN = 8;
/** Bodies that get a time before the clock is read again. */
const NOTED_AT_ONCE = 200;
/** Bodies of parts stay for so long after their object has gone: who reads it opens them one after the other. Milliseconds. */
const PARTS_STAY_MS = 3_600_000;

export function createLocalStore(options: LocalStoreOptions): UploadingStore {
  const { store, random, isShared = false } = options;
  const blobs = options.blobs ?? createBlobs(dirname(store.path), random);
  const hasPlace = options.blobs !== undefined || !isShared;
  const local: LocalStore = {
    ...options,
    blobs,
    mostInline: isShared && hasPlace ? MOST_INLINE_SHARED : MOST_INLINE,
    most: hasPlace ? Number.POSITIVE_INFINITY : MOST_INLINE,
    disk: options.disk ?? ENDLESS_ROOM,
    openBodies: createOpenBodies(options.clock),
    held: createHeldObjects(store),
    pace: createBodyPace(PIECES_A_TURN),
    dataDirectory: dirname(store.path),
    removed: new Set<string>(),
  };
  return {
    put: (bucket, key, body, putOptions) => putObject(local, bucket, key, body, putOptions),
    find: (bucket, key) => findItem(local, bucket, key),
    findSmall: local.held.find,
    open: (bucket, key, client) => openWithin(local, bucket, key, client),
    partOf: (bucket, key, number) => partOfObject(local, bucket, key, number),
    partsOf: (bucket, key, after, limit) => partsOfObject(local, bucket, key, { after, limit }),
    uploads: createUploads(local),
    openCount: () => local.openBodies.count(),
    samples: () => local.openBodies.samples(),
    delete: (bucket, keys, beforeWrite) => deleteObjects(local, { bucket, keys, beforeWrite }),
    deleteEach: (bucket, keys, beforeWrite) => deleteEach(local, { bucket, keys, beforeWrite }),
    sweepByRules: (bucket, position, beforeWrite) => sweepByRules(local, bucket, position, beforeWrite),
    sweep: () => sweep(local),
    verify: (signal) => verifyShare({ ...local, signal }),
  };
}

function findItem({ store }: LocalStore, bucket: number, key: string): ObjectItem | undefined {
  const row = isObjectKey(key) ? findObject(store, bucket, key) : undefined;
  return row && objectItem(row);
}

async function putObject(
  local: LocalStore,
  bucket: number,
  key: string,
  body: Pieces,
  options: PutOptions,
): Promise<ObjectItem> {
  if (!isObjectKey(key)) throw objectFailure('badKey');
  metadataColumns(options);
  const owner = requireOwner(local.store, bucket);
  const before = findObject(local.store, bucket, key);
  refuseUnless(options, before && objectItem(before));
  // Before the body is read; the write asks again.
  requireUnlocked(local.store, before, local.clock.nowUs());
  const { mostInline, most } = local;
  const limit = Math.min(options.limit, most);
  const received =
    (await shareBody(local, options)) ??
    (await receiveBody(body, local.blobs, { ...options, limit, mostInline, disk: local.disk }));
  try {
    await received.draft?.publish();
    return await publish(local, (discard) => storeObject(local, discard, { owner, key }, received, options));
  } catch (error) {
    // Otherwise the row may have been stored, or may be yet. If not, the sweeper finds the body.
    if (!mayHaveWritten(error)) await received.draft?.discard();
    throw error;
  }
}

/** Writes the rows of an upload; inside {@link publish}. */
function storeObject(
  { store, clock, random }: LocalStore,
  discard: Discard,
  { owner, key }: { readonly owner: BucketRow; readonly key: string },
  received: ReceivedBody,
  options: PutOptions,
): ObjectItem {
  options.beforeWrite?.();
  requireSame(store, owner);
  const { seq: bucket } = owner;
  const existing = findObject(store, bucket, key);
  refuseUnless(options, existing && objectItem(existing));
  const columns = metadataColumns(options);
  requireQuotas(store, owner.account, received.size + columns.metadata_size, existing);
  if (existing) discard.object(existing);
  const row: NewObjectRow = {
    bucket,
    key,
    version: random.uuid(),
    size: received.size,
    md5: received.md5,
    crc32: received.crc32,
    storage_class: options.storageClass ?? owner.storage_class,
    ...columns,
    uploaded_at: clock.nowUs(),
    blob: received.draft?.name ?? null,
    ...{ upload: null, parts: null, checksum: options.checksum?.() ?? null },
  };
  return objectItem({ ...row, seq: insertObject(store, row, received.inline) });
}

/** The place among the open bodies is taken before the file is opened, and given back when it is closed. */
async function openWithin(
  local: LocalStore,
  bucket: number,
  key: string,
  client: string,
): Promise<OpenObject | undefined> {
  const account = findBucket(local.store, bucket)?.account;
  if (account === undefined) return undefined;
  const release = await local.openBodies.take(account, client);
  try {
    const found = await openObject(local, bucket, key);
    if (!found) {
      release();
      return undefined;
    }
    const close = (): Promise<void> => found.close().finally(release);
    const turn = (): Promise<void> => new Promise((resolve) => local.pace.wait(account, client, resolve));
    // Of a body that nobody reads, octets are read until its connection is full.
    return openPieces({ ...found, close }, (first, last) => inTurns(found.pieces(first, last), last - first + 1, turn));
  } catch (error) {
    release();
    throw lacksOpenFiles(error) ? objectFailure('tooManyOpen') : error;
  }
}

async function openObject(local: LocalStore, bucket: number, key: string): Promise<OpenObject | undefined> {
  if (!isObjectKey(key)) return undefined;
  const held = local.held.find(bucket, key);
  if (held) return openHeld(held);
  const { store, blobs } = local;
  let missing: string | undefined;
  for (let attempt = 0; attempt < MOST_REPLACEMENTS; attempt++) {
    const row = findObject(store, bucket, key);
    if (!row) return undefined;
    if (row.version === missing) throw new BodyDamaged(nameOf(row), 'is missing');
    if (row.upload !== null) {
      const composed = await openComposed(store, row, blobs);
      if (composed) return composed;
    } else if (row.blob === null) {
      const contents = contentsOfObject(store, row.seq);
      if (contents) return openInline(row, contents);
    } else {
      const blob = await blobs.open(row.blob);
      if (blob) return openBlob(row, blob);
    }
    missing = row.version;
  }
  throw new BodyDamaged(nameOf({ bucket, key }), 'is missing');
}

async function sweep(local: LocalStore): Promise<boolean> {
  const { store, blobs, clock, dataDirectory } = local;
  await giveUpUploads(local, clock.nowUs() - UPLOAD_AGE * 1_000_000);
  await removeGoneUploads(local);
  await removeLeftOut(local);
  const nowMs = await blobs.nowMs(clock);
  const noteSome = (after: string | undefined): string | undefined => noteGarbage(store, nowMs, after!, NOTED_AT_ONCE);
  await inWrites<string | undefined>(local, '', (after) => after !== undefined, noteSome);
  for (;;) {
    const partsUntilMs = nowMs - Math.max(blobs.removalDelayMs, PARTS_STAY_MS);
    const noted = garbageBlobs(store, nowMs - blobs.removalDelayMs, partsUntilMs, GARBAGE_BATCH);
    if (noted.length === 0) break;
    if (areBodiesHeld(dataDirectory)) return false;
    for (const blob of noted) await blobs.remove(blob);
    await store.write(() => {
      for (const blob of noted) forgetGarbage(store, blob);
    });
  }
  for await (const blob of blobs.list(nowMs)) {
    if (isBlobUsed(store, blob)) continue;
    if (areBodiesHeld(dataDirectory)) return false;
    await blobs.remove(blob);
  }
  return true;
}
