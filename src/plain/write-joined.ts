/** Writes the parts of a message together: one system call and, where possible, no allocation. */
import type { Socket } from 'node:net';
import { lengthOf, type Part, putAll } from './parts.js';
import { isQueued, writeAtOnce, writeBorrowed } from './write-at-once.js';

/** Longer texts allocate a buffer. A slow reader may hold one of this size until it has read it. */
const MOST_OCTETS = 16_384;

/** A slow reader may hold a whole buffer, so data is put together in the shortest of these that is long enough, or a longer one. */
const STEPS = [MOST_OCTETS, 131_072];

/** Buffers that are kept to be taken again. */
const MOST_SPARE = 32;

/** Memory, and the part of it that was written last: often the next one is as long, and to make a view takes longer than to see that. */
class Memory {
  readonly octets: Buffer<ArrayBuffer>;
  private last: Buffer<ArrayBuffer>;
  private from = 0;
  private to = 0;

  constructor(length: number) {
    this.octets = Buffer.allocUnsafeSlow(length);
    this.last = this.octets.subarray(0, 0);
  }

  part(from: number, to: number): Buffer<ArrayBuffer> {
    if (this.from !== from || this.to !== to) {
      this.last = this.octets.subarray(from, to);
      this.from = from;
      this.to = to;
    }
    return this.last;
  }
}

/** That of the last write, which the system has copied, so it can be reused. */
let scratch = new Memory(MOST_OCTETS);

/**
 * Writes a head, then the octets, which must stay as they are. Returns, as `write` of the socket does, whether it takes more.
 */
export function writeJoined(socket: Socket, head: readonly Part[], octets: Uint8Array | undefined): boolean {
  if (octets && octets.length > MOST_OCTETS) return writeApart(socket, head, octets);
  const length = lengthOf(head) + (octets?.length ?? 0);
  // Queued data would keep the shared buffer in use.
  const isOwn = length > MOST_OCTETS || isBusy(socket);
  const joined = isOwn ? Buffer.allocUnsafe(length) : scratch.octets;
  const at = putAll(joined, head);
  if (octets) joined.set(octets, at);
  if (isOwn) return socket.write(joined);
  if (!writeIdle(socket, scratch.part(0, length))) scratch = new Memory(MOST_OCTETS);
  return !socket.writableNeedDrain && !isQueued(socket);
}

interface Writing {
  readonly _writableState?: { readonly writing?: boolean };
}

/** Whether what is written now would wait in the socket: also behind an empty write, of which only its state tells. */
function isBusy(socket: Socket): boolean {
  if (socket.writableLength > 0 || socket.writableCorked > 0 || socket.connecting) return true;
  return (socket as Writing)._writableState?.writing !== false;
}

/** Returns whether the memory of the octets can be used again. With TLS, they are encrypted, and so copied, before anything else. */
function writeIdle(socket: Socket, octets: Buffer): boolean {
  if (!('encrypted' in socket)) return writeAtOnce(socket, octets);
  socket.write(octets);
  return true;
}

/** Copying many octets would need new memory each time, for which V8 scans its heap again and again. */
function writeApart(socket: Socket, head: readonly Part[], octets: Uint8Array): boolean {
  const first = Buffer.allocUnsafe(lengthOf(head));
  putAll(first, head);
  socket.cork();
  socket.write(first);
  const takesMore = socket.write(octets);
  socket.uncork();
  return takesMore;
}

/** Memory that was taken away from {@link Composed}. */
export type Taken = Memory;

/** Data that is put together octet by octet before it is written. */
export class Composed {
  octets: Buffer;
  /** From the shortest to the longest. */
  private readonly memories: Memory[];
  /** Which of them is used. */
  private step = 0;
  private readonly spare: Memory[] = [];

  /** `room`: the most octets that will be written at once. */
  constructor(room: number) {
    const lengths = [...STEPS.filter((length) => length < room), room];
    this.memories = lengths.map((length) => new Memory(length));
    this.octets = this.memories[0]!.octets;
  }

  /** Must be called before. `most`: the most octets that will be written. */
  begin(most: number): void {
    const { memories } = this;
    this.step = 0;
    while (this.step < memories.length - 1 && most > memories[this.step]!.octets.length) this.step++;
    this.octets = memories[this.step]!.octets;
  }

  /** Writes octets. Returns whether the system has all of them, so that the next ones may be written. */
  writeTo(socket: Socket, from: number, to: number): boolean {
    if (!writeReused(socket, this.octets.subarray(from, to))) this.replace();
    return hasTaken(socket);
  }

  /** Writes octets that may be overwritten afterwards. Returns as {@link writeTo}. */
  writeCopy(socket: Socket, octets: Buffer): boolean {
    // With TLS, what is written is a copy already.
    if (octets.length > MOST_OCTETS || 'encrypted' in socket) {
      writeReused(socket, octets);
      return hasTaken(socket);
    }
    this.begin(octets.length);
    octets.copy(this.octets);
    return this.writeTo(socket, 0, octets.length);
  }

  /** Takes the memory away, to write from it later; undefined if it is a large one. */
  take(): Taken | undefined {
    if (this.step > 0) return undefined;
    const taken = this.memories[0];
    this.memories[0] = this.spare.pop() ?? new Memory(MOST_OCTETS);
    return taken;
  }

  /** Likewise, from memory that was taken. Returns whether the system has all octets. */
  writeTaken(socket: Socket, taken: Taken, from: number, to: number): boolean {
    if (writeReused(socket, taken.part(from, to))) this.giveBack(taken);
    return hasTaken(socket);
  }

  /** What was taken is not written any more. */
  giveBack(taken: Taken): void {
    if (this.spare.length < MOST_SPARE) this.spare.push(taken);
  }

  /** The system has not copied all of it yet. */
  private replace(): void {
    this.memories[this.step] = new Memory(this.octets.length);
  }
}

/** Returns whether the memory of the octets can be used again. */
function writeReused(socket: Socket, octets: Buffer): boolean {
  if (isBusy(socket)) {
    socket.write(Buffer.from(octets));
    return true;
  }
  if (octets.length <= MOST_OCTETS || 'encrypted' in socket) return writeIdle(socket, octets);
  writeBorrowed(socket, octets);
  return true;
}

/** Whether a socket has no more to send than it can take. */
export function hasTaken(socket: Socket): boolean {
  return (!socket.writableNeedDrain || socket.writableLength === 0) && !isQueued(socket);
}
