/** Compares bodies in files with the rows that name them: for backups, restoring and `doctor`. */
import { createHash } from 'node:crypto';
import { constants, createReadStream, mkdirSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { equalBytes } from '../base/bytes.js';
import { systemRandom } from '../base/random.js';
import type { Store } from '../store/driver.js';
import { type ObjectInFile, objectsWithFiles } from '../store/objects/objects.js';
import { createBlobs } from './blobs.js';

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

/** Checks whether each file exists in a data directory (or a copy of its bodies) with the size in its row. */
export function compareBodies(store: Store, directory: string): BodyCount {
  const { pathOf } = createBlobs(directory, systemRandom);
  const faults: BodyFault[] = [];
  let bodies = 0;
  let octets = 0;
  for (const object of objectsWithFiles(store)) {
    const fault = faultOfFile(object, pathOf(object.blob));
    if (fault) faults.push({ object, fault });
    bodies += 1;
    octets += object.size;
  }
  return { bodies, octets, faults };
}

/** Like {@link compareBodies}, but reads every body: its MD5 must be that of the row. */
export async function verifyBodies(store: Store, directory: string): Promise<BodyCount> {
  const count = compareBodies(store, directory);
  const { pathOf } = createBlobs(directory, systemRandom);
  const known = new Set(count.faults.map(({ object }) => object.seq));
  const faults = [...count.faults];
  for (const object of [...objectsWithFiles(store)]) {
    if (known.has(object.seq)) continue;
    const hash = createHash('md5');
    for await (const octets of createReadStream(pathOf(object.blob))) hash.update(octets as Buffer);
    if (!equalBytes(hash.digest(), object.md5)) faults.push({ object, fault: 'content' });
  }
  return { ...count, faults };
}

/** Copies the bodies that a database names from one directory to another. Existing and missing ones are skipped. */
export async function copyBodies(store: Store, from: string, to: string): Promise<void> {
  const [source, target] = [createBlobs(from, systemRandom), createBlobs(to, systemRandom)];
  for (const { blob } of [...objectsWithFiles(store)]) {
    const path = target.pathOf(blob);
    if (statSync(path, { throwIfNoEntry: false })) continue;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await copyFile(source.pathOf(blob), path, constants.COPYFILE_FICLONE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}

function faultOfFile({ size }: ObjectInFile, path: string): BodyFault['fault'] | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 'missing';
  return found.size === size ? undefined : 'size';
}
