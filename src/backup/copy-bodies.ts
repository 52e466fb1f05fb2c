/** Copies the bodies of objects that a copied database names. */
import { constants, copyFileSync, existsSync, linkSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectories } from '../base/directories.js';
import { isFull } from '../base/file-failure.js';
import type { Blobs, FileBlobs } from '../bucket/blobs.js';
import { copyOctets } from '../bucket/bodies/compare.js';
import type { ObjectInFile } from '../store/objects/objects.js';
import { eachAtOnce, turn } from './each-at-once.js';

/** Bodies that are copied at the same time. */
const AT_ONCE = 8;

/** Files that are copied before other work of this process gets a turn. */
const TURN = 64;

/**
 * Skips bodies that the target has already, and those that are missing or unreadable; the examination of the copies notices these.
 * Files are copied synchronously: a backup is a process of its own, and this takes a fraction of the time. `onCopied`: called with the
 * path of each copied file.
 */
export async function copyBodies(
  objects: Iterable<ObjectInFile>,
  source: Blobs | FileBlobs,
  target: FileBlobs,
  onCopied: (path: string) => void = () => {},
): Promise<void> {
  if ('pathOf' in source) return copyFiles(objects, source, target, onCopied);
  await eachAtOnce(objects, AT_ONCE, async (object) => {
    if ((await target.sizeOf(object.blob)) === undefined) await copyOctets(object, source, target);
  });
}

async function copyFiles(
  objects: Iterable<ObjectInFile>,
  source: FileBlobs,
  target: FileBlobs,
  onCopied: (path: string) => void,
): Promise<void> {
  const made = new Set<string>();
  let count = 0;
  for (const { blob } of objects) {
    const path = target.pathOf(blob);
    const directory = dirname(path);
    if (!made.has(directory)) makeDirectories(directory, 0o700);
    else if (++count % TURN === 0) await turn();
    made.add(directory);
    if (existsSync(path)) continue;
    try {
      copyFileSync(source.pathOf(blob), path, constants.COPYFILE_FICLONE);
      onCopied(path);
    } catch (error) {
      await target.remove(blob);
      if (isFull(error)) throw error;
    }
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
