/**
 * Large bodies as files. A body is written under a unique name, made durable, and renamed to its place before the
 * transaction that publishes it. A crash at any point leaves no more than a file that a later sweep removes. Several
 * processes may do this in one directory.
 */
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../base/random.js';
import { StoreFull } from '../store/driver.js';

/** Name of the directory inside the data directory. */
export const BLOB_DIRECTORY = 'blobs';
const DRAFTS = 'tmp';
/** Younger files may belong to an upload of another process. */
const ORPHAN_AGE_MS = 3_600_000;
const NAME = /^[0-9a-f]{32}$/;

export interface BlobDraft {
  readonly name: string;
  write(octets: Uint8Array): Promise<void>;
  /** Makes the file durable under its name. */
  publish(): Promise<void>;
  /** Removes the file, published or not. */
  discard(): Promise<void>;
}

export interface Blobs {
  draft(): Promise<BlobDraft>;
  /** Where the file of a body is, or would be. */
  pathOf(name: string): string;
  /** Undefined when the file is gone. */
  open(name: string): Promise<FileHandle | undefined>;
  remove(name: string): Promise<void>;
  /** Names of files that are too old to belong to an upload in progress; also removes abandoned drafts. */
  list(nowMs: number): AsyncIterable<string>;
}

export function createBlobs(dataDirectory: string, random: Random): Blobs {
  const root = join(dataDirectory, BLOB_DIRECTORY);
  const drafts = join(root, DRAFTS);
  const placeOf = (name: string): string => join(root, name.slice(0, 2), name);
  return {
    async draft() {
      const name = Buffer.from(random.bytes(16)).toString('hex');
      const path = join(drafts, name);
      await mkdir(drafts, { recursive: true, mode: 0o700 });
      const file = await typed(open(path, 'wx', 0o600));
      return openDraft(name, path, placeOf(name), file);
    },
    pathOf: placeOf,
    open: (name) => open(placeOf(name), 'r').catch(unlessMissing),
    remove: (name) => rm(placeOf(name), { force: true }),
    async *list(nowMs) {
      for (const directory of await readdir(root).catch(() => [])) {
        for (const name of await readdir(join(root, directory)).catch(() => [])) {
          const path = join(root, directory, name);
          const status = await stat(path).catch(unlessMissing);
          if (!status || !NAME.test(name) || nowMs - status.mtimeMs < ORPHAN_AGE_MS) continue;
          if (directory === DRAFTS) await rm(path, { force: true });
          else yield name;
        }
      }
    },
  };
}

function openDraft(name: string, path: string, place: string, file: FileHandle): BlobDraft {
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await file.close();
  };
  return {
    name,
    async write(octets) {
      for (let written = 0; written < octets.length; ) {
        written += (await typed(file.write(octets, written))).bytesWritten;
      }
    },
    async publish() {
      await typed(file.sync());
      await close();
      const directory = join(place, '..');
      const made = await typed(mkdir(directory, { recursive: true, mode: 0o700 }));
      await typed(rename(path, place));
      if (made !== undefined) await syncDirectory(join(directory, '..'));
      await syncDirectory(directory);
    },
    async discard() {
      await close();
      await Promise.all([rm(path, { force: true }), rm(place, { force: true })]);
    },
  };
}

/** A renamed file survives a power failure only after its directory is synced too. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await typed(directory.sync());
  } finally {
    await directory.close();
  }
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Reports a full disk as the error type of the store. */
async function typed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw FULL.has((error as NodeJS.ErrnoException).code ?? '') ? new StoreFull() : error;
  }
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
