/** Compares the bodies of objects with the rows that name them, and copies them. */
import { createHash } from 'node:crypto';
import { AppError } from '../../base/errors.js';
import type { Store } from '../../store/driver.js';
import {
  isBlobUsed,
  type ObjectInFile,
  type ObjectInRow,
  objectsInRows,
  objectsWithFiles,
} from '../../store/objects/objects.js';
import type { Blobs } from '../blobs.js';
import { md5Of } from './checked-body.js';

/** The problem with an object's body. */
export type BodyFault = 'missing' | 'size' | 'content' | 'unreadable';

export interface FaultyObject {
  readonly object: ObjectInFile | ObjectInRow;
  readonly fault: BodyFault;
}

export interface BodyCount {
  readonly bodies: number;
  readonly octets: number;
  readonly faults: readonly FaultyObject[];
}

/** Bodies that are looked for at the same time. */
const AT_ONCE = 16;

/** Checks whether each large body exists with the size in its row. */
export async function compareBodies(store: Store, blobs: Pick<Blobs, 'sizeOf'>): Promise<BodyCount> {
  const faults: (FaultyObject & { readonly object: ObjectInFile })[] = [];
  const objects = [...objectsWithFiles(store)];
  for (let at = 0; at < objects.length; at += AT_ONCE) {
    const some = objects.slice(at, at + AT_ONCE);
    const sizes = await Promise.all(some.map(({ blob }) => blobs.sizeOf(blob)));
    for (const [index, object] of some.entries()) {
      const size = sizes[index];
      if (size !== object.size) faults.push({ object, fault: size === undefined ? 'missing' : 'size' });
    }
  }
  const octets = objects.reduce((sum, { size }) => sum + size, 0);
  // Others were replaced or deleted meanwhile.
  return { bodies: objects.length, octets, faults: faults.filter(({ object }) => isBlobUsed(store, object.blob)) };
}

/** Reads every body, small ones too: its MD5 must be that of the row. */
export async function verifyBodies(store: Store, blobs: Blobs): Promise<BodyCount> {
  const faults: FaultyObject[] = [];
  let bodies = 0;
  let octets = 0;
  for (const object of objectsInRows(store)) {
    bodies++;
    octets += object.size;
    const fault = faultInRow(object);
    if (fault) faults.push({ object, fault });
  }
  for (const object of [...objectsWithFiles(store)]) {
    bodies++;
    octets += object.size;
    const fault = await faultInFile(object, blobs);
    if (fault && isBlobUsed(store, object.blob)) faults.push({ object, fault });
  }
  return { bodies, octets, faults };
}

export function faultInRow({ octets, size, md5 }: ObjectInRow): BodyFault | undefined {
  if (octets === null) return 'missing';
  if (octets.length !== size) return 'size';
  return md5Of(octets).equals(md5) ? undefined : 'content';
}

/** Throws only when the place of bodies is away. */
export async function faultInFile({ blob, size, md5 }: ObjectInFile, blobs: Blobs): Promise<BodyFault | undefined> {
  try {
    const body = await blobs.open(blob);
    if (!body) return 'missing';
    try {
      if (body.size !== size) return 'size';
      const hash = createHash('md5');
      for await (const octets of body.pieces(0, size - 1)) hash.update(octets);
      return hash.digest().equals(md5) ? undefined : 'content';
    } finally {
      await body.close();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    return 'unreadable';
  }
}

/** Copies a body under its name; nothing of it stays when that fails. False when there is none. */
export async function copyOctets({ blob, size }: ObjectInFile, source: Blobs, target: Blobs): Promise<boolean> {
  const body = await source.open(blob);
  if (!body) return false;
  const draft = await target.draft(blob);
  try {
    for await (const octets of body.pieces(0, size - 1)) await draft.write(octets);
    await draft.publish();
    return true;
  } catch (error) {
    await draft.discard();
    throw error;
  } finally {
    await body.close();
  }
}
