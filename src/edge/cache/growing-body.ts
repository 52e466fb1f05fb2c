/** A body that any number of readers read, each at its own pace, while it is still arriving from the origin. */
import { Readable } from 'node:stream';

interface Reader {
  /** Number of the next chunk, counted from the start of the body. */
  next: number;
  isWaiting: boolean;
  readonly stream: Readable;
}

/** Octets that may lie between the origin and the slowest reader of a body that is not kept. */
const WINDOW = 1 << 20;

export class GrowingBody {
  private readonly readers = new Set<Reader>();
  private kept: Uint8Array[] = [];
  private keptOctets = 0;
  /** Number of the first chunk that is kept. */
  private base = 0;
  private octets = 0;
  private state: 'growing' | 'whole' | 'failed' = 'growing';
  private failure: Error | undefined;
  private keepsAll = true;
  private giveRoom: (() => void) | undefined;
  private longer: { readonly octets: number; readonly run: () => void }[] = [];

  /** `onAbandoned` is called when the last reader leaves before the end. */
  constructor(private readonly onAbandoned: () => void) {}

  append(chunk: Uint8Array): void {
    this.octets += chunk.length;
    this.keptOctets += chunk.length;
    this.kept.push(ownCopy(chunk));
    this.feedWaiting();
    this.tellLength();
  }

  /** Call when the body is complete. */
  end(): void {
    this.state = 'whole';
    this.feedWaiting();
    this.tellLength();
  }

  /** Call when the body cannot be completed: all readers fail. */
  fail(error: Error): void {
    this.state = 'failed';
    this.failure = error;
    this.feedWaiting();
    this.tellLength();
  }

  /** Calls `run` once more than so many octets have come, or nothing more will. */
  whenLonger(octets: number, run: () => void): void {
    this.longer.push({ octets, run });
    this.tellLength();
  }

  /** Nothing more comes. */
  get isOver(): boolean {
    return this.state !== 'growing';
  }

  /** From now on, drops what all readers have read. New readers are no longer possible. */
  stopKeeping(): void {
    this.keepsAll = false;
    this.dropRead();
  }

  /** If the body is not kept, resolves when the slowest reader has caught up enough to accept more. */
  room(): Promise<void> {
    if (this.keptOctets < WINDOW) return Promise.resolve();
    return new Promise((resolve) => {
      this.giveRoom = resolve;
    });
  }

  /** Reads from the beginning. Call only while the whole body is kept. */
  open(): Readable {
    const stream = new Readable({
      read: () => this.feed(reader),
      destroy: (error, done) => {
        this.leave(reader);
        done(error);
      },
    });
    const reader: Reader = { next: 0, isWaiting: false, stream };
    this.readers.add(reader);
    return stream;
  }

  /** Whether the body is complete and kept from its first octet. */
  get isKept(): boolean {
    return this.keepsAll;
  }

  /** Octets received so far. */
  get size(): number {
    return this.octets;
  }

  get chunks(): readonly Uint8Array[] {
    return this.kept;
  }

  private feed(reader: Reader): void {
    let wantsMore = true;
    while (wantsMore && reader.next - this.base < this.kept.length) {
      const chunk = this.kept[reader.next - this.base]!;
      reader.next++;
      wantsMore = reader.stream.push(chunk);
    }
    if (wantsMore) {
      if (this.state === 'whole') reader.stream.push(null);
      else if (this.state === 'failed') reader.stream.destroy(this.failure);
      else reader.isWaiting = true;
    }
    this.dropRead();
  }

  private tellLength(): void {
    if (this.longer.length === 0) return;
    const told = this.longer.filter(({ octets }) => this.isOver || this.octets > octets);
    this.longer = this.longer.filter((one) => !told.includes(one));
    for (const { run } of told) run();
  }

  private feedWaiting(): void {
    for (const reader of this.readers) {
      if (!reader.isWaiting) continue;
      reader.isWaiting = false;
      this.feed(reader);
    }
  }

  private leave(reader: Reader): void {
    this.readers.delete(reader);
    this.dropRead();
    if (this.readers.size === 0 && this.state === 'growing') this.onAbandoned();
  }

  private dropRead(): void {
    if (this.keepsAll) return;
    let slowest = this.base + this.kept.length;
    for (const { next } of this.readers) slowest = Math.min(slowest, next);
    for (const chunk of this.kept.splice(0, slowest - this.base)) this.keptOctets -= chunk.length;
    this.base = slowest;
    if (this.keptOctets >= WINDOW) return;
    this.giveRoom?.();
    this.giveRoom = undefined;
  }
}

/** A view of a small part would keep the whole large buffer in memory. */
function ownCopy(chunk: Uint8Array): Uint8Array {
  if (chunk.buffer.byteLength <= chunk.byteLength * 2) return chunk;
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(chunk);
  return copy;
}
