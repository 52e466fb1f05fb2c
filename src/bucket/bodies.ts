/** Compares large bodies with the rows that name them, and copies them. */
import type { Store } from '../store/driver.js';
import { type ObjectInFile, objectsWithFiles } from '../store/objects/objects.js';
import type { Blobs } from './blobs.js';

/** The problem with an object's body. */
export interface BodyFault {
  readonly object: ObjectInFile;
  readonly fault: 'missing' | 'size';
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
