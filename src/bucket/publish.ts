/** What all writes of the local store have in common: the checks, one write, and the removal of bodies that it made garbage. */
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Pace } from '../base/pace.js';
import type { Random } from '../base/random.js';
import { requireRoomFor } from '../control/rules/quotas.js';
import type { DiskRoom } from '../store/disk-room.js';
import type { Store } from '../store/driver.js';
import { type BucketRow, findBucket } from '../store/objects/buckets.js';
import { areBodiesHeld } from '../store/objects/held-bodies.js';
import { forgetGarbage, type ObjectRow, removeObject, uncountGarbage } from '../store/objects/objects.js';
import { type PartRow, removePart } from '../store/objects/uploads.js';
import type { Blobs } from './blobs.js';
import type { OpenBodies } from './bodies/open-bodies.js';
import { objectFailure } from './errors.js';
import type { ObjectItem, PutOptions } from './object-store.js';
import { requireUnlocked } from './rules/locks.js';
import type { HeldObjects } from './small/held-objects.js';
import { writeTogether } from './small/shared-writes.js';

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

const MOST_METADATA = 8192;
export const GARBAGE_BATCH = 100;
/** Files that are removed at the same time. */
const REMOVED_AT_ONCE = 64;

export interface LocalStore extends LocalStoreOptions {
  readonly blobs: Blobs;
  readonly mostInline: number;
  /** The largest body of all, when there is no place for large ones. */
  readonly most: number;
  readonly openBodies: OpenBodies;
  readonly held: HeldObjects;
  /** For bodies that clients read. */
  readonly pace: Pace;
  readonly disk: DiskRoom;
  readonly dataDirectory: string;
  /** Files that this process has removed and whose garbage notes still exist in the database. */
  readonly removed: Set<string>;
}

/** Throws when the bucket was deleted during the request. Another one may have its number by now. */
export function requireSame(store: Store, { seq, account, name, created_at }: BucketRow): void {
  const now = findBucket(store, seq);
  if (now?.account !== account || now.name !== name || now.created_at !== created_at) throw objectFailure('noBucket');
}

/** The bucket with this store number. Throws when there is none. */
export function requireOwner(store: Store, bucket: number): BucketRow {
  const owner = findBucket(store, bucket);
  if (!owner) throw objectFailure('noBucket');
  return owner;
}

/** Removes rows; the files of their bodies are removed after the write. */
export interface Discard {
  /** Sweeps remove the parts of an object: whoever reads it opens their bodies one after the other. Throws 403 for a locked object. */
  object(row: ObjectRow): void;
  /** A part of an open upload, which nobody reads. */
  part(row: PartRow): void;
}

/**
 * Runs a write. Files that it made garbage are removed afterwards, and the notes of files removed earlier are deleted
 * with it.
 */
export async function publish<T>(local: LocalStore, work: (discard: Discard) => T): Promise<T> {
  const { store, removed } = local;
  const forgotten = [...removed].slice(0, GARBAGE_BATCH);
  const { value, garbage } = await writeTogether(local, () => {
    const garbage: string[] = [];
    const value = work({
      object(row) {
        requireUnlocked(store, row, local.clock.nowUs());
        removeObject(store, row.seq);
        if (row.blob !== null) garbage.push(row.blob);
      },
      part(row) {
        removePart(store, row.seq);
        garbage.push(row.blob);
      },
    });
    if (garbage.length > 0 && isRemovedAtOnce(local)) for (const blob of garbage) uncountGarbage(store, blob);
    for (const blob of forgotten) forgetGarbage(store, blob);
    return { value, garbage };
  });
  for (const blob of forgotten) removed.delete(blob);
  if (garbage.length > 0 && isRemovedAtOnce(local)) {
    for (let at = 0; at < garbage.length; at += REMOVED_AT_ONCE) {
      await Promise.all(garbage.slice(at, at + REMOVED_AT_ONCE).map((blob) => removeBlob(local, blob)));
    }
  }
  return value;
}

/** Whether nobody reads the bodies of objects that have gone. */
function isRemovedAtOnce({ blobs, dataDirectory }: LocalStore): boolean {
  return blobs.removalDelayMs === 0 && !areBodiesHeld(dataDirectory);
}

async function removeBlob({ blobs, removed, log }: LocalStore, blob: string): Promise<void> {
  try {
    await blobs.remove(blob);
    removed.add(blob);
  } catch (error) {
    log.warn({ blob, reason: messageOf(error) }, 'an unused file was not removed; the next sweep tries again');
  }
}

/** Throws 412. */
export function refuseUnless({ mayReplace }: Pick<PutOptions, 'mayReplace'>, existing: ObjectItem | undefined): void {
  if (mayReplace && !mayReplace(existing)) throw objectFailure('precondition');
}

/** Throws 400 for metadata that is too large. */
export function metadataColumns({
  httpMetadata,
  customMetadata = {},
}: Pick<PutOptions, 'httpMetadata' | 'customMetadata'>) {
  const columns = { http_metadata: JSON.stringify(httpMetadata), custom_metadata: JSON.stringify(customMetadata) };
  const texts = [...Object.values(httpMetadata), ...Object.entries(customMetadata).flat()];
  const metadata_size = texts.reduce((octets, text) => octets + Buffer.byteLength(text), 0);
  if (metadata_size > MOST_METADATA) throw objectFailure('metadataTooLarge', { limit: MOST_METADATA });
  return { ...columns, metadata_size };
}

/**
 * Throws 403 when the account (store number) may not have the object beside what it has, or in place of `existing`. `octets`: of its body
 * and its metadata.
 */
export function requireQuotas(store: Store, account: number, octets: number, existing: ObjectRow | undefined): void {
  if (!existing) requireRoomFor({ store }, account, 'objects');
  requireOctets(store, account, octets - (existing ? existing.size + existing.metadata_size : 0));
}

/** Throws 403 when the account (store number) may not have so many more octets, of objects or of uploads that are not complete. */
export function requireOctets(store: Store, account: number, more: number): void {
  if (more > 0) requireRoomFor({ store }, account, 'octets', more);
}
