/**
 * Bodies in pieces, which are read into reused memory: V8 scans the whole heap for every few dozen MiB of new buffers, which takes
 * longer than anything else that is done with a large body.
 */
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { fewInATurn } from '../../base/slices.js';

/** Octets of a piece. A slow reader keeps as many in memory, and as many again where they are encrypted. */
export const PIECE = 1 << 18;
/** Pieces whose memory is kept for the next body. */
const MOST_FREE = 16;

const free: Buffer[] = [];

/**
 * After the first piece of each body, so many of all are read in a turn of the event loop, which takes one connection from a listener in
 * each: whoever comes new does not wait while hundreds are sent their pieces.
 */
const PIECES_A_TURN = 8;
const nextPiece = fewInATurn(PIECES_A_TURN);

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
    if (at > first) await nextPiece();
    const { bytesRead } = await file.read(memory, 0, Math.min(PIECE, last + 1 - at), at);
    if (bytesRead === 0) break;
    at += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
  // A reader that has asked for more than the last piece no longer uses it. One that ends early may still be sending it.
  giveBack(memory);
}

/** The same octets in a stream: each piece has memory of its own. */
export function streamOf(pieces: AsyncIterable<Buffer>): Readable {
  return Readable.from(lasting(pieces), { objectMode: false });
}

/** Pieces that stay as they are. */
export async function* lasting<Piece extends Uint8Array>(pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
