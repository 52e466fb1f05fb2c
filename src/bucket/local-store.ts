/**
 * Objects: metadata and small bodies in SQLite, large bodies as files (blobs.ts) or on S3 (s3/). An upload becomes visible in
 * one transaction, after its body is durable. Several processes and nodes may do this at once: writes have one order, names of
 * bodies are random, and a process removes only its own bodies and old ones.
 */

import { dirname } from 'node:path';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { lacksOpenFiles } from '../base/open-files.js';
import type { Random } from '../base/random.js';
import { requireRoomFor } from '../control/rules/quotas.js';
import { type DiskRoom, ENDLESS_ROOM } from '../store/disk-room.js';
import type { Store } from '../store/driver.js';
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
  type ObjectRow,
  removeObject,
} from '../store/objects/objects.js';
import { type Blobs, createBlobs } from './blobs.js';
import { BodyDamaged } from './bodies/checked-body.js';
import { verifyShare } from './bodies/verify-round.js';
import { objectFailure } from './errors.js';
import { objectItem } from './item.js';
import {
  type BeforeWrite,
  isObjectKey,
  type ObjectItem,
  type ObjectStore,
  type OpenObject,
  type PutOptions,
} from './object-store.js';
import { createOpenBodies, type OpenBodies } from './open-bodies.js';
import { nameOf, openBlob, openInline } from './open-object.js';
import { MOST_INLINE, type ReceivedBody, receiveBody } from './receive-body.js';

export interface LocalStoreOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Where large bodies are; default: files beside the database. Undefined: nowhere, so that larger ones are refused. */
  readonly blobs?: Blobs | undefined;
  /** Whether every node keeps the rows, so that only small bodies are among them when there is another place. */
  readonly isShared?: boolean;
  /** Room for bodies beside the reserve of the disk. */
  readonly disk?: DiskRoom;
}

/** The largest body in the rows of a cluster that has another place for bodies, in octets. */
const MOST_INLINE_SHARED = 4096;

const MOST_METADATA = 8192;
/** How often opening is retried when the object is replaced between reading its row and opening its file. */
const MOST_REPLACEMENTS = 100;
const GARBAGE_BATCH = 100;

interface LocalStore extends LocalStoreOptions {
  readonly blobs: Blobs;
  readonly mostInline: number;
  /** The largest body of all, when there is no place for large ones. */
  readonly most: number;
  readonly openBodies: OpenBodies;
  readonly disk: DiskRoom;
  readonly dataDirectory: string;
  /** Files that this process has removed and whose garbage notes still exist in the database. */
  readonly removed: Set<string>;
}

export function createLocalStore(options: LocalStoreOptions): ObjectStore {
  const { store, random, isShared = false } = options;
  const blobs = options.blobs ?? createBlobs(dirname(store.path), random);
  const hasPlace = options.blobs !== undefined || !isShared;
  const local: LocalStore = {
    ...options,
    blobs,
    mostInline: isShared && hasPlace ? MOST_INLINE_SHARED : MOST_INLINE,
    most: hasPlace ? Number.POSITIVE_INFINITY : MOST_INLINE,
    disk: options.disk ?? ENDLESS_ROOM,
    openBodies: createOpenBodies(),
    dataDirectory: dirname(store.path),
    removed: new Set<string>(),
  };
  return {
    put: (bucket, key, body, putOptions) => putObject(local, bucket, key, body, putOptions),
    find: (bucket, key) => findItem(local, bucket, key),
    open: (bucket, key, client) => openWithin(local, bucket, key, client),
    openCount: () => local.openBodies.count(),
    delete: (bucket, keys, beforeWrite) => deleteObjects(local, bucket, keys, beforeWrite),
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
  body: AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<ObjectItem> {
  if (!isObjectKey(key)) throw objectFailure('badKey');
  if (metadataColumns(options).metadata_size > MOST_METADATA) {
    throw objectFailure('metadataTooLarge', { limit: MOST_METADATA });
  }
  const owner = findBucket(local.store, bucket);
  if (!owner) throw objectFailure('noBucket');
  refuseUnless(options, findItem(local, bucket, key));
  const { mostInline, most } = local;
  const limit = Math.min(options.limit, most);
  const received = await receiveBody(body, local.blobs, { ...options, limit, mostInline, disk: local.disk });
  try {
    await received.draft?.publish();
    return await publish(local, (discard) => storeObject(local, discard, { owner, key }, received, options));
  } catch (error) {
    // Otherwise the row may have been stored, or may be yet. If not, the sweeper finds the body.
    if (!mayHaveWritten(error)) await received.draft?.discard();
    throw error;
  }
}

/** Throws when the bucket was deleted during the request. Another one may have its number by now. */
function requireSame(store: Store, { seq, account, name, created_at }: BucketRow): void {
  const now = findBucket(store, seq);
  if (now?.account !== account || now.name !== name || now.created_at !== created_at) throw objectFailure('noBucket');
}

/** Removes a row; the body's file is removed after the write. */
type Discard = (row: ObjectRow) => void;

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
  requireQuotas(store, owner.account, received.size, existing);
  if (existing) discard(existing);
  const row: NewObjectRow = {
    bucket,
    key,
    version: random.uuid(),
    size: received.size,
    md5: received.md5,
    storage_class: options.storageClass ?? owner.storage_class,
    ...metadataColumns(options),
    uploaded_at: clock.nowUs(),
    blob: received.draft?.name ?? null,
  };
  return objectItem({ ...row, seq: insertObject(store, row, received.inline) });
}

/**
 * Runs a write. Files that it made garbage are removed afterwards, and the notes of files removed earlier are deleted
 * with it.
 */
async function publish<T>(local: LocalStore, work: (discard: Discard) => T): Promise<T> {
  const { store, removed } = local;
  const forgotten = [...removed].slice(0, GARBAGE_BATCH);
  const { value, garbage } = await store.write(() => {
    const garbage: string[] = [];
    const value = work((row) => {
      removeObject(store, row.seq);
      if (row.blob !== null) garbage.push(row.blob);
    });
    for (const blob of forgotten) forgetGarbage(store, blob);
    return { value, garbage };
  });
  for (const blob of forgotten) removed.delete(blob);
  if (local.blobs.removalDelayMs === 0 && garbage.length > 0 && !areBodiesHeld(local.dataDirectory)) {
    await Promise.all(garbage.map((blob) => removeBlob(local, blob)));
  }
  return value;
}

async function removeBlob({ blobs, removed, log }: LocalStore, blob: string): Promise<void> {
  try {
    await blobs.remove(blob);
    removed.add(blob);
  } catch (error) {
    log.warn({ blob, reason: messageOf(error) }, 'an unused file was not removed; the next sweep tries again');
  }
}

/** The place among the open bodies is taken before the file is opened, and given back when it is closed. */
async function openWithin(
  local: LocalStore,
  bucket: number,
  key: string,
  client: string,
): Promise<OpenObject | undefined> {
  const release = local.openBodies.take(client);
  try {
    const found = await openObject(local, bucket, key);
    if (!found) {
      release();
      return undefined;
    }
    const close = (): Promise<void> => found.close().finally(release);
    return { ...found, close };
  } catch (error) {
    release();
    throw lacksOpenFiles(error) ? objectFailure('tooManyOpen') : error;
  }
}

async function openObject({ store, blobs }: LocalStore, bucket: number, key: string): Promise<OpenObject | undefined> {
  if (!isObjectKey(key)) return undefined;
  let missing: string | undefined;
  for (let attempt = 0; attempt < MOST_REPLACEMENTS; attempt++) {
    const row = findObject(store, bucket, key);
    if (!row) return undefined;
    if (row.version === missing) throw new BodyDamaged(nameOf(row), 'is missing');
    if (row.blob === null) {
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

async function deleteObjects(
  local: LocalStore,
  bucket: number,
  keys: readonly string[],
  beforeWrite?: BeforeWrite,
): Promise<void> {
  if (!keys.every(isObjectKey)) throw objectFailure('badKey');
  const owner = findBucket(local.store, bucket);
  if (!owner) throw objectFailure('noBucket');
  await publish(local, (discard) => {
    beforeWrite?.();
    requireSame(local.store, owner);
    for (const key of keys) {
      const row = findObject(local.store, bucket, key);
      if (row) discard(row);
    }
  });
}

async function sweep({ store, blobs, clock, dataDirectory }: LocalStore): Promise<boolean> {
  const nowMs = await blobs.nowMs(clock);
  await store.write(() => noteGarbage(store, nowMs));
  for (;;) {
    const noted = garbageBlobs(store, nowMs - blobs.removalDelayMs, GARBAGE_BATCH);
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

function refuseUnless({ mayReplace }: PutOptions, existing: ObjectItem | undefined): void {
  if (mayReplace && !mayReplace(existing)) throw objectFailure('precondition');
}

function metadataColumns({ httpMetadata, customMetadata = {} }: PutOptions) {
  const columns = { http_metadata: JSON.stringify(httpMetadata), custom_metadata: JSON.stringify(customMetadata) };
  const texts = [...Object.values(httpMetadata), ...Object.entries(customMetadata).flat()];
  return { ...columns, metadata_size: texts.reduce((octets, text) => octets + Buffer.byteLength(text), 0) };
}

/** Throws 403 when the account (store number) may not have the object beside what it has, or in place of `existing`. */
function requireQuotas(store: Store, account: number, size: number, existing: ObjectRow | undefined): void {
  if (!existing) requireRoomFor({ store }, account, 'objects');
  const more = size - (existing?.size ?? 0);
  if (more > 0) requireRoomFor({ store }, account, 'octets', more);
}
