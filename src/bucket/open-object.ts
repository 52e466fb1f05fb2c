/** Opens objects with their bodies, from the database or from where large ones are, and checks these bodies. */
import { Readable } from 'node:stream';
import type { ObjectRow } from '../store/objects/objects.js';
import type { BlobReader } from './blobs.js';
import { BodyDamaged, checkBody, md5Of } from './bodies/checked-body.js';
import { objectItem } from './item.js';
import type { OpenObject, SmallObject } from './object-store.js';

/** Bodies up to this size are read and checked before anything of them is sent: a stream would read as much at once. */
const MOST_AT_ONCE = 256 * 1024;

/** Throws {@link BodyDamaged}. */
export function openInline(row: ObjectRow, octets: Uint8Array): OpenObject {
  if (octets.length !== row.size) throw new BodyDamaged(nameOf(row), 'is not whole');
  if (!md5Of(octets).equals(row.md5)) throw new BodyDamaged(nameOf(row), 'is not what was stored');
  return openHeld({ item: objectItem(row), octets });
}

/** One that is in memory, and was compared when it was read. */
export function openHeld({ item, octets }: Pick<SmallObject, 'item' | 'octets'>): OpenObject {
  const read = (first = 0, last = octets.length - 1): Readable => {
    const part = octets.subarray(first, last + 1);
    return Readable.from(part.length === 0 ? [] : [part], { objectMode: false });
  };
  return { item, octets, read, readPart: read, close: async () => {} };
}

/** Takes the body over. Throws {@link BodyDamaged}; then it is closed. */
export async function openBlob(row: ObjectRow, blob: BlobReader): Promise<OpenObject> {
  const { size, md5 } = row;
  const name = nameOf(row);
  try {
    if (blob.size !== size) throw new BodyDamaged(name, 'is not whole');
    if (size <= MOST_AT_ONCE) {
      const pieces: Buffer[] = [];
      for await (const piece of checkBody(blob.readPart(0, size - 1), { length: size, md5, name })) pieces.push(piece);
      await blob.close();
      return openInline(row, Buffer.concat(pieces));
    }
  } catch (error) {
    await blob.close();
    throw error;
  }
  const checked = (source: Readable, first: number, last: number): Readable =>
    checkBody(source, { length: last - first + 1, md5: first === 0 && last === size - 1 ? md5 : undefined, name });
  return {
    item: objectItem(row),
    bodyName: row.blob!,
    read: (first = 0, last = size - 1) => checked(blob.read(first, last), first, last),
    readPart: (first, last) => checked(blob.readPart(first, last), first, last),
    close: blob.close,
  };
}

/** Which object it is, in messages; keys may be long. */
export const nameOf = ({ bucket, key }: Pick<ObjectRow, 'bucket' | 'key'>): string =>
  `object ${key.slice(0, 100)} in bucket number ${bucket}`;
