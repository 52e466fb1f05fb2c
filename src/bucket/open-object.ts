/** Opens objects with their bodies, from the database or from where large ones are, and checks these bodies. */
import type { Readable } from 'node:stream';
import type { ObjectRow } from '../store/objects/objects.js';
import type { BlobReader } from './blobs.js';
import { BodyDamaged, checkBody, md5Of } from './bodies/checked-body.js';
import { lasting, streamOf } from './bodies/pieces.js';
import { objectItem } from './item.js';
import type { OpenObject, SmallObject } from './object-store.js';

/** Bodies up to this size are read and checked before any octet is sent: of larger ones, no more than this is read at once. */
const MOST_AT_ONCE = 256 * 1024;

/** Throws {@link BodyDamaged}. */
export function openInline(row: ObjectRow, octets: Uint8Array): OpenObject {
  if (octets.length !== row.size) throw new BodyDamaged(nameOf(row), 'is not whole');
  if (!md5Of(octets).equals(row.md5)) throw new BodyDamaged(nameOf(row), 'is not what was stored');
  return openHeld({ item: objectItem(row), octets });
}

/** One that is in memory, and was compared when it was read. */
export function openHeld({ item, octets }: Pick<SmallObject, 'item' | 'octets'>): OpenObject {
  return openPieces({ item, octets, close: async () => {} }, async function* (first, last) {
    const { buffer, byteOffset, length } = octets.subarray(first, last + 1);
    if (length > 0) yield Buffer.from(buffer, byteOffset, length);
  });
}

/** Takes the body over. Throws {@link BodyDamaged}; then it is closed. */
export async function openBlob(row: ObjectRow, blob: BlobReader): Promise<OpenObject> {
  const { size } = row;
  const name = nameOf(row);
  const piecesOf = (first: number, last: number): AsyncIterable<Buffer> => {
    const length = last - first + 1;
    return checkBody(blob.pieces(first, last), { length, sum: length === size ? row : undefined, name });
  };
  try {
    if (blob.size !== size) throw new BodyDamaged(name, 'is not whole');
    if (size <= MOST_AT_ONCE) {
      const pieces: Buffer[] = [];
      for await (const piece of lasting(piecesOf(0, size - 1))) pieces.push(piece);
      await blob.close();
      return openHeld({ item: objectItem(row), octets: Buffer.concat(pieces) });
    }
  } catch (error) {
    await blob.close();
    throw error;
  }
  const body = { name: row.blob!, crc32: row.crc32 };
  return openPieces({ item: objectItem(row), body, close: blob.close }, piecesOf);
}

/** An object whose octets come in pieces. Closing it ends its streams. */
export function openPieces(known: Omit<OpenObject, 'pieces' | 'read'>, piecesOf: OpenObject['pieces']): OpenObject {
  const { size } = known.item;
  const streams: Readable[] = [];
  return {
    ...known,
    pieces: piecesOf,
    read(first = 0, last = size - 1) {
      const stream = streamOf(piecesOf(first, last));
      streams.push(stream);
      return stream;
    },
    async close() {
      for (const stream of streams) stream.destroy();
      await known.close();
    },
  };
}

/** Which object it is, in messages; keys may be long. */
export const nameOf = ({ bucket, key }: Pick<ObjectRow, 'bucket' | 'key'>): string =>
  `object ${key.slice(0, 100)} in bucket number ${bucket}`;
