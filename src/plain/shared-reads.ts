/**
 * Reads what sockets receive from one buffer for all of them: memory for each piece, and the streams between, take a tenth of the time of
 * a request. Node offers that for sockets that connect (`onread`). Those that a server has accepted have the same parts, two of which have
 * no public name; where one is missing, everything comes as events.
 */
import type { Socket } from 'node:net';

/** Octets that are read at once of who sends long bodies: one of 128 KiB with its head is then read, and written, as a whole. */
export const LONG_READ = 147_456;

/** Room in front of what is read: a head that is put before a body is often longer than the one that came with it. */
const FRONT = 4096;

/** Memory that many sockets are read into, one after another. */
export class ReadMemory {
  readonly octets: Buffer;
  private readonly whole: Buffer;
  private last: Buffer;

  constructor(length = 65_536) {
    this.whole = Buffer.allocUnsafeSlow(FRONT + length);
    this.octets = this.whole.subarray(FRONT);
    this.last = this.octets;
  }

  /** What was read last. Often it is as long as what was read before: to make a view takes longer than to see that. */
  first(length: number): Buffer {
    if (this.last.length !== length) this.last = this.octets.subarray(0, length);
    return this.last;
  }

  /**
   * Puts a head before a part of what was read last, over what came in front of it. Returns both; undefined if there is no room, or if
   * the octets are others.
   */
  putBefore(octets: Buffer, start: number, end: number, head: Uint8Array): Buffer | undefined {
    const at = octets.byteOffset + start - head.length;
    if (octets.buffer !== this.whole.buffer || at < 0) return undefined;
    this.whole.set(head, at);
    return this.whole.subarray(at, at + head.length + end - start);
  }
}

const RECEIVED = new ReadMemory();

interface Parts {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/** The same ones for all sockets. */
let known: Parts | undefined;

function partsOf(socket: Socket): Parts | undefined {
  if (known) return known;
  const all = Object.getOwnPropertySymbols(socket);
  const buffer = all.find(({ description }) => description === 'kBuffer');
  const callback = all.find(({ description }) => description === 'kBufferCb');
  known = buffer && callback && { buffer, callback };
  return known;
}

interface Reading {
  readonly _handle?: { useUserBuffer?(octets: Buffer): void } | null;
}

/**
 * From now on, `take` gets what a socket receives instead of its readers; what it does not use up is to be kept by {@link kept}. It returns
 * whether more may come, as `push` of a stream does. Returns false where that is not possible.
 */
export function shareReads(socket: Socket, take: (octets: Buffer) => boolean): boolean {
  const { _handle: handle } = socket as Reading;
  const parts = partsOf(socket);
  if (!parts || !handle?.useUserBuffer) return false;
  handle.useUserBuffer(RECEIVED.octets);
  const callback = (length: number): boolean => take(RECEIVED.first(length));
  Object.assign(socket, { [parts.buffer]: RECEIVED.octets, [parts.callback]: callback });
  return true;
}

/** The same octets, in memory that others do not write to. */
export function kept(octets: Buffer): Buffer {
  return octets.buffer === RECEIVED.octets.buffer ? Buffer.from(octets) : octets;
}
