/**
 * The body of a request in larger pieces than those of the network: with TLS, a GiB comes in 65,536 pieces, and passing each through
 * iterators would take longer than writing its octets to the disk.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { giveBack, PIECE, takeMemory } from './pieces.js';

/** Octets that wait until somebody takes them; at this size, reading stops. The last piece from the network may exceed it. */
const MOST_WAITING = PIECE - (1 << 16);

/**
 * The octets of one turn of the event loop are one piece, so nothing waits for more. A piece is valid until the next one is asked
 * for. Ending early leaves the source open and paused. Rejects as the source does, and with ECONNRESET when it ends too early.
 */
export async function* gatherBody(source: Readable): AsyncGenerator<Uint8Array> {
  const arrivals = new Arrivals(source);
  try {
    for (let piece = await arrivals.next(); piece; piece = await arrivals.next()) yield piece;
    arrivals.end();
  } finally {
    arrivals.stop();
  }
}

class Arrivals {
  private waiting: Buffer[] = [];
  private octets = 0;
  /** A piece that was passed on as it came. */
  private handedOn: Buffer | undefined;
  private memory: Buffer | undefined;
  /** Whether more may come in this turn. */
  private isComing = false;
  private isOver = false;
  private failure: unknown;
  private wake: (() => void) | undefined;
  /** Nobody else uses the pieces from the network. */
  private readonly isOfNetwork: boolean;

  constructor(private readonly source: Readable) {
    this.isOfNetwork = source instanceof IncomingMessage && source.socket instanceof Socket;
    if (source.readableEnded) {
      this.isOver = true;
      return;
    }
    source.on('data', this.onData).on('end', this.onEnd).on('error', this.onError).on('close', this.onClose);
    if (source.destroyed) this.onClose();
    else source.resume();
  }

  /** Undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.handedOn) this.dispose(this.handedOn);
    this.handedOn = undefined;
    for (;;) {
      if (this.octets > 0 && !this.isComing) return this.take();
      if (this.octets === 0 && this.failure !== undefined) throw this.failure;
      if (this.octets === 0 && this.isOver) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** To be called when the last piece is not used any more. */
  end(): void {
    if (this.memory) giveBack(this.memory);
    this.memory = undefined;
  }

  stop(): void {
    const { source } = this;
    source.off('data', this.onData).off('end', this.onEnd).off('error', this.onError).off('close', this.onClose);
    if (!this.isOver) source.pause();
  }

  private take(): Buffer {
    const { waiting, octets } = this;
    this.waiting = [];
    this.octets = 0;
    if (!this.isOver) this.source.resume();
    if (waiting.length === 1) return (this.handedOn = waiting[0]!);
    if (octets > PIECE) return Buffer.concat(waiting);
    this.memory ??= takeMemory();
    let at = 0;
    for (const piece of waiting) {
      this.memory.set(piece, at);
      at += piece.length;
      this.dispose(piece);
    }
    return this.memory.subarray(0, at);
  }

  /** Frees the memory of a piece at once if nothing else is in it; otherwise V8 would scan the whole heap to find it. */
  private dispose({ buffer, length }: Buffer): void {
    const isWhole = length > 0 && buffer.byteLength === length && buffer instanceof ArrayBuffer;
    if (isWhole && this.isOfNetwork) buffer.transfer(0);
  }

  private readonly onData = (piece: Buffer): void => {
    this.waiting.push(piece);
    this.octets += piece.length;
    if (this.octets >= MOST_WAITING) this.source.pause();
    if (this.isComing) return;
    this.isComing = true;
    setImmediate(this.onTurn);
  };

  private readonly onTurn = (): void => {
    this.isComing = false;
    this.wake?.();
    this.wake = undefined;
  };

  private readonly onEnd = (): void => {
    this.isOver = true;
    this.onTurn();
  };

  private readonly onError = (error: unknown): void => {
    this.failure ??= error;
    this.isOver = true;
    this.onTurn();
  };

  private readonly onClose = (): void => {
    if (!this.isOver)
      this.onError(Object.assign(new Error('the connection ended before the body did'), { code: 'ECONNRESET' }));
  };
}
