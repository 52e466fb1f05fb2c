/** What a client sends in a stream, and for a tunnel also what it gets, as a stream of Node. */
import { Duplex, type DuplexOptions } from 'node:stream';
import { kept } from '../../plain/shared-reads.js';
import type { Window } from '../exchange/stalls.js';

/** The stream below. */
export interface DuplexLink {
  /** Octets of the body were taken. */
  onTaken(octets: number): void;
  /** What takes that which is written. */
  readonly taker: Window;
  write(chunk: Buffer): boolean;
  end(): void;
  /** Nobody wants the rest. */
  onUnwanted(): void;
}

/** A piece that keeps more memory than so many times its octets is copied. */
const MOST_TIMES = 4;

export class StreamDuplex extends Duplex {
  /** Whether everything has come. */
  complete = false;
  private received = 0;
  private given = 0;
  private onDrained: (() => void) | undefined;

  /** `isTunnel`: it can be written to. */
  constructor(
    private readonly link: DuplexLink,
    isTunnel: boolean,
  ) {
    super({ writable: isTunnel } as DuplexOptions);
  }

  receive(octets: Buffer): void {
    if (this.destroyed) this.link.onTaken(octets.length);
    if (octets.length === 0 || this.destroyed) return;
    this.received += octets.length;
    this.push(octets.length * MOST_TIMES < octets.buffer.byteLength ? ownCopy(octets) : kept(octets));
  }

  finish(): void {
    if (this.complete || this.destroyed) return;
    this.complete = true;
    this.push(null);
  }

  get taker(): Window {
    return this.link.taker;
  }

  drained(): void {
    const { onDrained } = this;
    this.onDrained = undefined;
    onDrained?.();
  }

  /** What came and was not taken counts no more. */
  release(): void {
    this.give(this.received - this.given);
  }

  override _read(): void {
    this.give(this.received - this.readableLength - this.given);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.link.write(chunk)) done();
    else this.onDrained = done;
  }

  override _final(done: () => void): void {
    this.link.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.release();
    this.link.onUnwanted();
    done(error);
  }

  private give(octets: number): void {
    if (octets <= 0) return;
    this.given += octets;
    this.link.onTaken(octets);
  }
}

/** In memory of its own, not in a pool, of which a small part would keep all. */
function ownCopy(octets: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(octets.length);
  octets.copy(copy);
  return copy;
}
