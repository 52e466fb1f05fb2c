/** Opens objects with their bodies, from the database or from where large ones are. */
import { Readable } from 'node:stream';
import type { BlobReader } from './blobs.js';
import type { ObjectItem, OpenObject } from './object-store.js';

export function openInline(item: ObjectItem, octets: Uint8Array): OpenObject {
  const read = (first = 0, last = octets.length - 1): Readable => {
    // A copy, because SQLite's buffer may be a view of more octets than these.
    const part = Buffer.from(octets.subarray(first, last + 1));
    return Readable.from(part.length === 0 ? [] : [part], { objectMode: false });
  };
  return { item, read, readPart: read, close: async () => {} };
}

export function openBlob(item: ObjectItem, blob: BlobReader): OpenObject {
  return {
    item,
    read: (first = 0, last = item.size - 1) => blob.read(first, last),
    readPart: blob.readPart,
    close: blob.close,
  };
}
