/**
 * Objects on this machine: descriptions and small bodies in SQLite, large bodies as files (blobs.ts). An upload becomes visible
 * in one transaction, after its body is durable. Several processes may work on one data directory at once: SQLite's lock orders
 * what they publish, names of files are random, and nobody removes a file that is not its own or old.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { AppError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Random } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { bucketStatements } from '../store/objects/buckets.js';
import { insertObject, type NewObjectRow, type ObjectRow, objectStatements } from '../store/objects/objects.js';
import { type BlobDraft, type Blobs, createBlobs } from './blobs.js';
import { objectFailure } from './errors.js';
import { objectItem } from './item.js';
import { listObjects } from './list.js';
import { isObjectKey, type ObjectItem, type ObjectStore, type OpenObject, type PutOptions } from './object-store.js';

export interface LocalStoreOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Bodies up to this many octets are kept in the database. */
const MOST_INLINE = 64 * 1024;
const MOST_METADATA = 8192;
/** How often opening starts anew when the object is replaced between finding its row and opening its file. */
const MOST_REPLACEMENTS = 100;
const GARBAGE_BATCH = 100;
/** Read from a file at once. */
const READ_OCTETS = 1 << 18;

interface Received {
  readonly size: number;
  readonly md5: Uint8Array;
  readonly inline: Buffer | undefined;
  readonly draft: BlobDraft | undefined;
}

export function createLocalStore({ store, clock, random, log }: LocalStoreOptions): ObjectStore {
  const blobs = createBlobs(dirname(store.path), random);
  const statements = objectStatements(store);
  /** Files removed by this process whose notes in the database still stand. */
  const removed = new Set<string>();

  const find = (bucket: number, key: string): ObjectItem | undefined => {
    const row = isObjectKey(key) ? statements.byKey.get(bucket, key) : undefined;
    return row && objectItem(row);
  };

  /** Runs a write; the files it made garbage are removed afterwards, and those removed earlier forgotten with it. */
  const publish = async <T>(work: (discard: (row: ObjectRow) => void) => T): Promise<T> => {
    const forgotten = [...removed].slice(0, GARBAGE_BATCH);
    const { value, garbage } = await store.write(() => {
      const garbage: string[] = [];
      const value = work((row) => {
        statements.remove.run(row.seq);
        if (row.blob !== null) garbage.push(row.blob);
      });
      for (const blob of forgotten) statements.forgetGarbage.run(blob);
      return { value, garbage };
    });
    for (const blob of forgotten) removed.delete(blob);
    await Promise.all(garbage.map(removeBlob));
    return value;
  };

  const removeBlob = async (blob: string): Promise<void> => {
    try {
      await blobs.remove(blob);
      removed.add(blob);
    } catch (error) {
      log.warn({ blob, reason: messageOf(error) }, 'a file nobody needs was not removed; the next start tries again');
    }
  };

  const publishObject = (bucket: number, key: string, received: Received, options: PutOptions): Promise<ObjectItem> =>
    publish((discard) => {
      const owner = bucketStatements(store).bySeq.get(bucket);
      if (!owner) throw objectFailure('noBucket');
      const existing = statements.byKey.get(bucket, key);
      refuseUnless(options, existing && objectItem(existing));
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
      const seq = insertObject(store, row);
      if (received.inline) statements.putContents.run(seq, received.inline);
      return objectItem({ ...row, seq });
    });

  return {
    async put(bucket, key, body, options) {
      if (!isObjectKey(key)) throw objectFailure('badKey');
      if (metadataColumns(options).metadata_size > MOST_METADATA) {
        throw objectFailure('metadataTooLarge', { limit: MOST_METADATA });
      }
      refuseUnless(options, find(bucket, key));
      const received = await receive(body, blobs, options);
      try {
        await received.draft?.publish();
        return await publishObject(bucket, key, received, options);
      } catch (error) {
        await received.draft?.discard();
        throw error;
      }
    },

    find,

    async open(bucket, key) {
      if (!isObjectKey(key)) return undefined;
      for (let attempt = 0; attempt < MOST_REPLACEMENTS; attempt++) {
        const row = statements.byKey.get(bucket, key);
        if (!row) return undefined;
        if (row.blob === null) {
          const contents = statements.contents.get(row.seq);
          if (contents) return openInline(objectItem(row), contents[0]);
        } else {
          const file = await blobs.open(row.blob);
          if (file) return openFile(objectItem(row), file);
        }
      }
      throw new Error(`the body of an object is missing: bucket ${bucket}, key ${JSON.stringify(key.slice(0, 100))}`);
    },

    async delete(bucket, keys) {
      if (!keys.every(isObjectKey)) throw objectFailure('badKey');
      await publish((discard) => {
        for (const key of keys) {
          const row = statements.byKey.get(bucket, key);
          if (row) discard(row);
        }
      });
    },

    list: (bucket, query) => store.snapshot(() => listObjects(store, bucket, query)),

    async sweep() {
      for (;;) {
        const noted = statements.garbage.all(GARBAGE_BATCH);
        if (noted.length === 0) break;
        for (const [blob] of noted) await blobs.remove(blob);
        await store.write(() => {
          for (const [blob] of noted) statements.forgetGarbage.run(blob);
        });
      }
      for await (const blob of blobs.list(clock.nowMs())) {
        if (!statements.blobInUse.get(blob)) await blobs.remove(blob);
      }
    },
  };
}

function refuseUnless({ mayReplace }: PutOptions, existing: ObjectItem | undefined): void {
  if (mayReplace && !mayReplace(existing)) throw objectFailure('precondition');
}

function metadataColumns({ httpMetadata, customMetadata = {} }: PutOptions) {
  const columns = { http_metadata: JSON.stringify(httpMetadata), custom_metadata: JSON.stringify(customMetadata) };
  const texts = [...Object.values(httpMetadata), ...Object.entries(customMetadata).flat()];
  return { ...columns, metadata_size: texts.reduce((octets, text) => octets + Buffer.byteLength(text), 0) };
}

/** Takes a body in, piece by piece; what goes wrong leaves nothing behind. */
async function receive(body: AsyncIterable<Uint8Array>, blobs: Blobs, options: PutOptions): Promise<Received> {
  const { limit } = options;
  const md5 = createHash('md5');
  const sha256 = options.sha256 && createHash('sha256');
  let size = 0;
  let draft: BlobDraft | undefined;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > limit) throw objectFailure('tooLarge', { limit });
      md5.update(piece);
      sha256?.update(piece);
      pieces.push(piece);
      if (size <= MOST_INLINE) continue;
      draft ??= await blobs.draft();
      for (const waiting of pieces.splice(0)) await draft.write(waiting);
    }
    const digest = md5.digest();
    if (options.size !== undefined && size !== options.size) throw objectFailure('incomplete');
    const intact = isSame(options.md5, digest) && (!sha256 || isSame(options.sha256, sha256.digest()));
    if (!intact) throw objectFailure('badChecksum');
    return { size, md5: digest, inline: draft ? undefined : Buffer.concat(pieces), draft };
  } catch (error) {
    await draft?.discard();
    throw isBrokenOff(error) ? objectFailure('incomplete') : error;
  }
}

const isSame = (expected: Uint8Array | undefined, digest: Buffer): boolean =>
  expected === undefined || digest.equals(expected);

/** The sender went away in the middle of the body. */
function isBrokenOff(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
}

function openInline(item: ObjectItem, octets: Uint8Array): OpenObject {
  const read = (first = 0, last = octets.length - 1): Readable => {
    // A copy: what SQLite hands out may be a view of more than these octets.
    const part = Buffer.from(octets.subarray(first, last + 1));
    return Readable.from(part.length === 0 ? [] : [part], { objectMode: false });
  };
  return { item, read, readPart: read, close: async () => {} };
}

function openFile(item: ObjectItem, file: FileHandle): OpenObject {
  return {
    item,
    read: (first = 0, last = item.size - 1) =>
      file.createReadStream({ start: first, end: last, highWaterMark: READ_OCTETS }),
    readPart: (first, last) =>
      file.createReadStream({ start: first, end: last, highWaterMark: READ_OCTETS, autoClose: false }),
    close: () => file.close(),
  };
}
