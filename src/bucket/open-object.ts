/** Opens objects with their bodies, from the database or from a file. */
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ObjectItem, OpenObject } from './object-store.js';

/** Octets read from a file in one step. */
const READ_OCTETS = 1 << 18;

export function openInline(item: ObjectItem, octets: Uint8Array): OpenObject {
  const read = (first = 0, last = octets.length - 1): Readable => {
    // A copy, because SQLite's buffer may be a view of more octets than these.
    const part = Buffer.from(octets.subarray(first, last + 1));
    return Readable.from(part.length === 0 ? [] : [part], { objectMode: false });
  };
  return { item, read, readPart: read, close: async () => {} };
}

export function openFile(item: ObjectItem, file: FileHandle): OpenObject {
  return {
    item,
    read: (first = 0, last = item.size - 1) =>
      file.createReadStream({ start: first, end: last, highWaterMark: READ_OCTETS }),
    readPart: (first, last) =>
      file.createReadStream({ start: first, end: last, highWaterMark: READ_OCTETS, autoClose: false }),
    close: () => file.close(),
  };
}
