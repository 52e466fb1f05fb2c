/**
 * Bodies in pieces, which are read into reused memory: V8 scans the whole heap for every few dozen MiB of new buffers, which takes
 * longer than anything else that is done with a large body.
 */
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Octets of a piece. A slow reader keeps as many in memory, and as many again where they are encrypted. */
export const PIECE = 1 << 18;
/** Pieces whose memory is kept for the next body. */
const MOST_FREE = 16;

const free: Buffer[] = [];

/** Memory for a piece, to be given back when nobody uses it any more, or to be forgotten. */
export function takeMemory(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(PIECE);
}

export function giveBack(memory: Buffer): void {
  if (free.length < MOST_FREE) free.push(memory);
}

/** Octets of a file, fewer if the file ends before. A piece is valid until the next one is asked for. */
export async function* readPieces(file: FileHandle, first: number, last: number): AsyncGenerator<Buffer> {
  const memory = takeMemory();
  for (let at = first; at <= last; ) {
    const { bytesRead } = await file.read(memory, 0, Math.min(PIECE, last + 1 - at), at);
    if (bytesRead === 0) break;
    at += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
  // A reader that has asked for more than the last piece no longer uses it. One that ends early may still be sending it.
  giveBack(memory);
}

/** Waits for a turn before each piece of `octets` in all. */
export async function* inTurns(
  pieces: AsyncIterable<Buffer>,
  octets: number,
  turn: () => Promise<void>,
): AsyncGenerator<Buffer> {
  let left = octets;
  await turn();
  for await (const piece of pieces) {
    left -= piece.length;
    yield piece;
    if (left > 0) await turn();
  }
}

/** The same octets in a stream: each piece has memory of its own. */
export function streamOf(pieces: AsyncIterable<Buffer>): Readable {
  return Readable.from(lasting(pieces), { objectMode: false });
}

/** Pieces that stay as they are. */
export async function* lasting<Piece extends Uint8Array>(pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
