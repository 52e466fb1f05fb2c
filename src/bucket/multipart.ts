/** Several ranges of one object in one response: `multipart/byteranges` (RFC 9110 §14.6). */
import { Readable } from 'node:stream';
import type { Range } from '../http/range.js';
import { lasting } from './bodies/pieces.js';
import type { OpenObject } from './object-store.js';

export interface Multipart {
  readonly contentType: string;
  /** Octets. */
  readonly length: number;
  /** Can be read once. The object stays open. */
  readonly body: Readable;
}

/** `boundary` must not occur in the object: random letters and digits. `contentType` is that of the object. */
export function makeMultipart(
  found: OpenObject,
  ranges: readonly Range[],
  contentType: string,
  boundary: string,
): Multipart {
  const { size } = found.item;
  const heads = ranges.map(({ first, last }) =>
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: ${contentType}\r\nContent-Range: bytes ${first}-${last}/${size}\r\n\r\n`,
      'latin1',
    ),
  );
  const end = Buffer.from(`\r\n--${boundary}--\r\n`);
  const length = ranges.reduce((sum, { first, last }, i) => sum + heads[i]!.length + last - first + 1, end.length);
  return {
    contentType: `multipart/byteranges; boundary=${boundary}`,
    length,
    body: Readable.from(writeParts(found, ranges, heads, end), { objectMode: false }),
  };
}

async function* writeParts(
  found: OpenObject,
  ranges: readonly Range[],
  heads: readonly Buffer[],
  end: Buffer,
): AsyncGenerator<Uint8Array> {
  for (const [i, { first, last }] of ranges.entries()) {
    yield heads[i]!;
    yield* lasting(found.pieces(first, last));
  }
  yield end;
}
