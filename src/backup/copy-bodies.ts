/** Copies the bodies of objects that a copied database names. */
import { constants, linkSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectories } from '../base/directories.js';
import { isFull } from '../base/file-failure.js';
import type { Blobs, FileBlobs } from '../bucket/blobs.js';
import { copyOctets } from '../bucket/bodies/compare.js';
import type { ObjectInFile } from '../store/objects/objects.js';
import { eachAtOnce } from './each-at-once.js';

/** Bodies that are copied at the same time. */
const AT_ONCE = 8;

/** Those that are there already are skipped, and those that are missing or cannot be read; whoever reads the copies notices. */
export async function copyBodies(
  objects: Iterable<ObjectInFile>,
  source: Blobs | FileBlobs,
  target: FileBlobs,
): Promise<void> {
  await eachAtOnce(objects, AT_ONCE, async (object) => {
    if ((await target.sizeOf(object.blob)) !== undefined) return;
    if ('pathOf' in source) await copyFileOf(object.blob, source, target);
    else await copyOctets(object, source, target);
  });
}

async function copyFileOf(blob: string, source: FileBlobs, target: FileBlobs): Promise<void> {
  const path = target.pathOf(blob);
  makeDirectories(dirname(path), 0o700);
  try {
    await copyFile(source.pathOf(blob), path, constants.COPYFILE_FICLONE);
  } catch (error) {
    await target.remove(blob);
    if (isFull(error)) throw error;
  }
}

/** Links a body, whose name stands for the same octets for ever. False where that cannot be done, or it is there already. */
export function linkBody(blob: string, source: FileBlobs, target: FileBlobs): boolean {
  const path = target.pathOf(blob);
  makeDirectories(dirname(path), 0o700);
  try {
    linkSync(source.pathOf(blob), path);
    return true;
  } catch {
    // It is copied then, and a failing disk says so at the copy.
    return false;
  }
}
