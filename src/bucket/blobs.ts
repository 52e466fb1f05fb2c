/**
 * Large bodies as files. A body is written under a unique name, made durable, and renamed to its place before the
 * transaction that publishes it. A crash at any point leaves no more than a file that a later sweep removes. Several
 * processes may do this in one directory.
 */

import { type FileHandle, link, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.js';
import { makeDirectories } from '../base/directories.js';
import { isFull } from '../base/file-failure.js';
import type { Random } from '../base/random.js';
import { StoreFull, StoreRefused } from '../store/failures.js';
import { giveBack, PIECE, readPieces, takeMemory } from './bodies/pieces.js';

/** Name of the directory inside the data directory. */
export const BLOB_DIRECTORY = 'blobs';
const DRAFTS = 'tmp';
/** Younger files may belong to an upload of another process. */
const ORPHAN_AGE_MS = 3_600_000;
export const BLOB_NAME = /^[0-9a-f]{32}$/;
/** Directory of the bodies whose names begin with these two digits. */
const SHARD = /^[0-9a-f]{2}$/;
/** The file is gone, or the file system has no links for it, or no more of them. */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  'ENOENT',
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);
/** A piece with fewer octets waits, and is written together with others. */
const WRITTEN_OCTETS = 1 << 17;

export interface BlobDraft {
  readonly name: string;
  /** The octets must not change until it resolves. */
  write(octets: Uint8Array): Promise<void>;
  /** Makes the body durable under its name. */
  publish(): Promise<void>;
  /** Removes the body, published or not. */
  discard(): Promise<void>;
}

/** A body that is complete, and not yet published. */
export type FinishedDraft = Pick<BlobDraft, 'name' | 'publish' | 'discard'>;

/** An open body. Octets from `first` to `last`, both included. */
export interface BlobReader {
  /** Octets. */
  readonly size: number;
  /** A piece is valid until the next one is asked for. */
  pieces(first: number, last: number): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}

/** Where large bodies are. A name is given to one body, and never again. */
export interface Blobs {
  /** For so long, a body that no object uses any more stays: another node may be reading it. Milliseconds. */
  readonly removalDelayMs: number;
  /** `name`: that of a body that is elsewhere up to now. */
  draft(name?: string): Promise<BlobDraft>;
  /**
   * A draft that is a body which is there already, under another name and without reading it; undefined where only its octets make one.
   * `clock`: that of this machine.
   */
  share(name: string, clock: Clock): Promise<FinishedDraft | undefined>;
  /** Octets of a body; undefined when it is gone. */
  sizeOf(name: string): Promise<number | undefined>;
  /** Undefined when the body is gone. */
  open(name: string): Promise<BlobReader | undefined>;
  remove(name: string): Promise<void>;
  /**
   * The time where bodies are, milliseconds since 1970: their age is measured by the clock that dates them. `clock`: that of this
   * machine.
   */
  nowMs(clock: Clock): Promise<number>;
  /** Names of bodies that are too old to belong to an upload in progress; also removes abandoned drafts. `nowMs`: from {@link nowMs}. */
  list(nowMs: number): AsyncIterable<string>;
  close(): Promise<void>;
}

export interface FileBlobs extends Blobs {
  /** Where the file of a body is, or would be. */
  pathOf(name: string): string;
}

export function createBlobs(dataDirectory: string, random: Random): FileBlobs {
  return createBlobsIn(join(dataDirectory, BLOB_DIRECTORY), random);
}

/** `root`: the directory of bodies itself, such as that of a backup. */
export function createBlobsIn(root: string, random: Random): FileBlobs {
  const drafts = join(root, DRAFTS);
  const placeOf = (name: string): string => join(root, name.slice(0, 2), name);
  return {
    // Who reads it has opened it, on the same machine.
    removalDelayMs: 0,
    async draft(name = newBlobName(random)) {
      const path = join(drafts, name);
      makeDirectory(drafts);
      const file = await typed(open(path, 'wx', 0o600));
      return openDraft(name, path, placeOf(name), file);
    },
    async share(name, clock) {
      const own = newBlobName(random);
      const [source, place] = [placeOf(name), placeOf(own)];
      makeDirectory(join(place, '..'));
      try {
        // The sweeper leaves young files alone. Links to a file have its age.
        const now = clock.nowMs() / 1000;
        await utimes(source, now, now);
        await link(source, place);
      } catch (error) {
        if (CANNOT_LINK.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
        throw writeFailure(error);
      }
      return {
        name: own,
        publish: () => syncDirectory(join(place, '..')),
        discard: () => rm(place, { force: true }),
      };
    },
    pathOf: placeOf,
    sizeOf: async (name) => (await stat(placeOf(name)).catch(unlessMissing))?.size,
    async open(name) {
      const file = await open(placeOf(name), 'r').catch(unlessMissing);
      return file && openReader(file);
    },
    close: async () => {},
    nowMs: async (clock) => clock.nowMs(),
    remove: (name) => rm(placeOf(name), { force: true }),
    async *list(nowMs) {
      // Anything else is not ours, such as the `lost+found` of a file system of its own.
      for (const directory of (await namesIn(root)).filter((name) => name === DRAFTS || SHARD.test(name))) {
        for (const name of await namesIn(join(root, directory))) {
          const path = join(root, directory, name);
          const status = await stat(path).catch(unlessMissing);
          if (!status || !BLOB_NAME.test(name) || nowMs - status.mtimeMs < ORPHAN_AGE_MS) continue;
          if (directory === DRAFTS) await rm(path, { force: true });
          else yield name;
        }
      }
    },
  };
}

export const newBlobName = (random: Random): string => Buffer.from(random.bytes(16)).toString('hex');

async function openReader(file: FileHandle): Promise<BlobReader> {
  const { size } = await file.stat().catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  return {
    size,
    pieces: (first, last) => readPieces(file, first, last),
    close: () => file.close(),
  };
}

function openDraft(name: string, path: string, place: string, file: FileHandle): BlobDraft {
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await file.close();
  };
  let memory: Buffer | undefined;
  let held = 0;
  const flush = async (): Promise<void> => {
    const octets = held;
    held = 0;
    if (octets > 0) await writeAll(file, memory!.subarray(0, octets));
  };
  return {
    name,
    // Pieces are as small as the network delivers them; a system call for each would take longer than all other work on it.
    async write(octets) {
      if (held + octets.length > PIECE) await flush();
      if (octets.length >= WRITTEN_OCTETS && held === 0) {
        await writeAll(file, octets);
        return;
      }
      memory ??= takeMemory();
      memory.set(octets, held);
      held += octets.length;
    },
    async publish() {
      await flush();
      if (memory) giveBack(memory);
      memory = undefined;
      await typed(file.sync());
      await close();
      const directory = join(place, '..');
      makeDirectory(directory);
      await typed(rename(path, place));
      await syncDirectory(directory);
    },
    async discard() {
      await close();
      await Promise.all([rm(path, { force: true }), rm(place, { force: true })]);
    },
  };
}

async function writeAll(file: FileHandle, octets: Uint8Array): Promise<void> {
  // A write may be short, for example when the disk is nearly full.
  for (let at = 0; at < octets.length; ) at += (await typed(file.write(octets, at, octets.length - at))).bytesWritten;
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

function makeDirectory(path: string): void {
  try {
    makeDirectories(path, 0o700);
  } catch (error) {
    throw writeFailure(error);
  }
}

/** The names in a directory; none in one that does not exist. */
async function namesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(unlessMissing)) ?? [];
}

/** Reports a full disk as the error type of the store. */
async function typed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw writeFailure(error);
  }
}

function writeFailure(error: unknown): unknown {
  if (!isFull(error)) return error;
  const { code, errno } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' ? new StoreFull() : new StoreRefused(errno === undefined ? String(code) : `errno ${-errno}`);
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
