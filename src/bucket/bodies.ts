/** Compares large bodies with the rows that name them: for backups, restoring and `doctor`. */
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { equalBytes } from '../base/bytes.js';
import { makeDirectories } from '../base/directories.js';
import type { Store } from '../store/driver.js';
import { type ObjectInFile, objectsWithFiles } from '../store/objects/objects.js';
import type { Blobs, FileBlobs } from './blobs.js';

/** The problem with an object's body. */
export interface BodyFault {
  readonly object: ObjectInFile;
  readonly fault: 'missing' | 'size' | 'content';
}

export interface BodyCount {
  readonly bodies: number;
  readonly octets: number;
  readonly faults: readonly BodyFault[];
}

/** Bodies that are looked for at the same time. */
const AT_ONCE = 16;

/** Checks whether each body exists with the size in its row. */
export async function compareBodies(store: Store, blobs: Pick<Blobs, 'sizeOf'>): Promise<BodyCount> {
  const faults: BodyFault[] = [];
  const objects = [...objectsWithFiles(store)];
  for (let at = 0; at < objects.length; at += AT_ONCE) {
    const some = objects.slice(at, at + AT_ONCE);
    const sizes = await Promise.all(some.map(({ blob }) => blobs.sizeOf(blob)));
    for (const [index, object] of some.entries()) {
      const size = sizes[index];
      if (size !== object.size) faults.push({ object, fault: size === undefined ? 'missing' : 'size' });
    }
  }
  return { bodies: objects.length, octets: objects.reduce((sum, { size }) => sum + size, 0), faults };
}

/** Like {@link compareBodies}, but reads every body: its MD5 must be that of the row. */
export async function verifyBodies(store: Store, files: FileBlobs): Promise<BodyCount> {
  const count = await compareBodies(store, files);
  const known = new Set(count.faults.map(({ object }) => object.seq));
  const faults = [...count.faults];
  for (const object of [...objectsWithFiles(store)]) {
    if (known.has(object.seq)) continue;
    const hash = createHash('md5');
    for await (const octets of createReadStream(files.pathOf(object.blob))) hash.update(octets as Buffer);
    if (!equalBytes(hash.digest(), object.md5)) faults.push({ object, fault: 'content' });
  }
  return { ...count, faults };
}

/** Copies the bodies that a database names into files. Existing and missing ones are skipped. */
export async function copyBodies(store: Store, source: Blobs | FileBlobs, target: FileBlobs): Promise<void> {
  for (const object of [...objectsWithFiles(store)]) {
    if ((await target.sizeOf(object.blob)) !== undefined) continue;
    if ('pathOf' in source) await copyFileOf(object.blob, source, target);
    else await copyOctets(object, source, target);
  }
}

async function copyFileOf(blob: string, source: FileBlobs, target: FileBlobs): Promise<void> {
  const path = target.pathOf(blob);
  makeDirectories(dirname(path), 0o700);
  await copyFile(source.pathOf(blob), path, constants.COPYFILE_FICLONE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Copies a body under its name; nothing of it stays when that fails. False when there is none. */
export async function copyOctets({ blob, size }: ObjectInFile, source: Blobs, target: Blobs): Promise<boolean> {
  const body = await source.open(blob);
  if (!body) return false;
  const draft = await target.draft(blob);
  try {
    for await (const octets of body.read(0, size - 1)) await draft.write(octets as Buffer);
    await draft.publish();
    return true;
  } catch (error) {
    await draft.discard();
    throw error;
  } finally {
    await body.close();
  }
}
