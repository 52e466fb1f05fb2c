/**
 * One DNS connection over a byte stream, TCP or TLS: messages with a length of two octets before each (RFC 1035 §4.2.2,
 * RFC 7766).
 *
 * Whole frames are answered where they lie in the chunk that was read; only a frame that is cut off is copied. The
 * answers to one chunk are gathered in one buffer of the process and leave with one write. When the peer does not read, the
 * connection stops: the rest of the chunk is held, nothing more is read, and it goes on when the peer has caught up. So the
 * memory of a connection is bounded by one chunk, one frame and {@link FLUSH_AT} + one answer of output.
 */
import type { Socket } from 'node:net';
import { type Answer, type Client, createClient, type TransportCode } from '../answer/transport.js';
import { messageOf } from '../base/errors.js';
import { parseIP } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { Type } from '../dns/codes.js';
import { Count, type CountBlock, questionType } from './counters.js';

export interface StreamPeer {
  readonly address: string;
  readonly port: number;
  readonly transport: TransportCode;
}

/**
 * Answers that are a sequence of messages: zone transfers (RFC 5936, RFC 1995). Asked for each AXFR and IXFR query;
 * undefined leaves the query to the engine. `request` is a copy. Messages are pulled as fast as the peer reads.
 */
export type AnswerTransfer = (
  request: Uint8Array,
  peer: StreamPeer,
) => AsyncIterable<Uint8Array> | Iterable<Uint8Array> | undefined;

export interface StreamContext {
  readonly answer: Answer;
  readonly answerTransfer: AnswerTransfer | undefined;
  readonly counts: CountBlock;
  readonly log: Logger;
  /** Milliseconds. */
  readonly now: () => number;
}

/** Since when a connection waits, and for what; 0 where it does not. Epoch milliseconds. */
export interface StreamTimes {
  /** Last octets from the peer, or last progress towards it. */
  activeAtMs: number;
  /** Since when a frame is incomplete. */
  partialSinceMs: number;
  /** Since when the peer has not read what was written. */
  blockedSinceMs: number;
  /** Since when only the peer's end is waited for. */
  closingSinceMs: number;
}

/** A header is twelve octets; less cannot even be refused. */
const SHORTEST_MESSAGE = 12;
const LONGEST_MESSAGE = 65_535;
/** Octets gathered before they are written although the chunk has more queries. */
const FLUSH_AT = 192 * 1024;
/** Octets the stream may hold unsent before the connection stops answering. */
const BLOCK_AT = 64 * 1024;
const FIRST_PARTIAL = 512;

/** Where answers are gathered; empty whenever no connection is at work. */
const output = new Uint8Array(FLUSH_AT + 2 + LONGEST_MESSAGE);
let gathered = 0;

export class StreamConnection {
  readonly times: StreamTimes;
  readonly peer: StreamPeer;
  private readonly client: Client = createClient();
  /** The beginning of a frame, two octets of length included. */
  private partial: Uint8Array | undefined;
  private partialLength = 0;
  /** Octets that were read but not parsed yet, because the peer does not read or a transfer is going out. */
  private held: Uint8Array | undefined;
  private transferring = false;
  private inputEnded = false;

  constructor(
    readonly socket: Socket,
    private readonly context: StreamContext,
    transport: TransportCode,
  ) {
    this.times = { activeAtMs: context.now(), partialSinceMs: 0, blockedSinceMs: 0, closingSinceMs: 0 };
    this.peer = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0, transport };
    const address = parseIP(this.peer.address.replace(/%.*$/, ''));
    if (address) this.client.source = address;
    this.client.length = address?.length ?? 0;
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => this.resume());
    socket.on('end', () => this.endInput());
    // 'close' follows; the list of connections listens to that event.
    socket.on('error', () => {
      context.counts[Count.connectionFailed]! += 1;
    });
  }

  /** Whether no query of the peer is being worked on, so that closing loses nothing. */
  get idle(): boolean {
    return !this.transferring && this.times.blockedSinceMs === 0 && this.times.partialSinceMs === 0;
  }

  /** Sends what is written, then closes; further input is thrown away. */
  finish(): void {
    if (this.times.closingSinceMs > 0) return;
    this.times.closingSinceMs = this.context.now();
    this.partial = undefined;
    this.held = undefined;
    this.socket.end();
    this.socket.resume();
  }

  private read(chunk: Uint8Array): void {
    if (this.times.closingSinceMs > 0) return;
    this.times.activeAtMs = this.context.now();
    if (this.stopped) this.held = this.held ? Buffer.concat([this.held, chunk]) : chunk;
    else this.answerChunk(chunk);
  }

  private get stopped(): boolean {
    return this.transferring || this.times.blockedSinceMs > 0;
  }

  /** Answers all whole frames of `chunk` and keeps the rest. */
  private answerChunk(chunk: Uint8Array): void {
    let at = this.partialLength > 0 ? this.completePartial(chunk) : 0;
    while (chunk.length - at >= 2 && this.times.closingSinceMs === 0) {
      if (this.stopped) {
        this.hold(chunk, at);
        return;
      }
      const length = (chunk[at]! << 8) | chunk[at + 1]!;
      if (length < SHORTEST_MESSAGE) {
        this.refuseFrame();
        return;
      }
      if (chunk.length - at - 2 < length) break;
      this.answerFrame(chunk, at + 2, length);
      at += 2 + length;
      if (gathered >= FLUSH_AT) this.flush();
    }
    if (this.times.closingSinceMs > 0) return;
    if (this.stopped) this.hold(chunk, at);
    else if (at < chunk.length) this.keepPartial(chunk.subarray(at));
    this.flush();
  }

  private hold(chunk: Uint8Array, at: number): void {
    if (at < chunk.length) this.held = chunk.subarray(at);
  }

  private answerFrame(bytes: Uint8Array, start: number, length: number): void {
    const { answer, answerTransfer } = this.context;
    if (answerTransfer && isTransferQuery(bytes, start, length)) {
      const messages = answerTransfer(bytes.slice(start, start + length), this.peer);
      if (messages) {
        this.flush();
        void this.transfer(messages);
        return;
      }
    }
    this.client.seconds = Math.floor(this.times.activeAtMs / 1000);
    const written = answer(
      bytes,
      start,
      length,
      output,
      gathered + 2,
      LONGEST_MESSAGE,
      this.peer.transport,
      this.client,
    );
    if (written === 0) return;
    output[gathered] = written >>> 8;
    output[gathered + 1] = written;
    gathered += 2 + written;
  }

  /** Fills up the frame that was cut off; answers it when it is whole. Returns how many octets of `chunk` it took. */
  private completePartial(chunk: Uint8Array): number {
    let taken = 0;
    if (this.partialLength < 2) {
      this.appendPartial(chunk.subarray(0, 1));
      taken = 1;
    }
    const partial = this.partial!;
    const length = (partial[0]! << 8) | partial[1]!;
    if (length < SHORTEST_MESSAGE) {
      this.refuseFrame();
      return chunk.length;
    }
    const missing = 2 + length - this.partialLength;
    const part = chunk.subarray(taken, taken + missing);
    this.appendPartial(part);
    if (part.length === missing) {
      const whole = this.partial!;
      this.partial = undefined;
      this.partialLength = 0;
      this.times.partialSinceMs = 0;
      this.answerFrame(whole, 2, length);
    }
    return taken + part.length;
  }

  private keepPartial(rest: Uint8Array): void {
    if (this.partialLength === 0) this.times.partialSinceMs = this.times.activeAtMs;
    this.appendPartial(rest);
  }

  /** The buffer grows with the octets received, not with the length announced: two octets must not reserve 64 KiB. */
  private appendPartial(part: Uint8Array): void {
    const needed = this.partialLength + part.length;
    if (!this.partial || this.partial.length < needed) {
      const room = Math.max(FIRST_PARTIAL, needed, Math.min(2 * needed, LONGEST_MESSAGE + 2));
      const grown = new Uint8Array(room);
      if (this.partial) grown.set(this.partial.subarray(0, this.partialLength));
      this.partial = grown;
    }
    this.partial.set(part, this.partialLength);
    this.partialLength = needed;
  }

  /** The stream is not DNS or has lost its framing: sends the answers so far, then closes. */
  private refuseFrame(): void {
    this.context.counts[Count.frameRefused]! += 1;
    this.flush();
    this.finish();
  }

  /** Writes the gathered answers. A copy, since the stream may still hold it when the buffer is needed again. */
  private flush(): void {
    if (gathered === 0) return;
    const octets = Buffer.from(output.subarray(0, gathered));
    gathered = 0;
    this.write(octets);
  }

  private write(octets: Uint8Array): void {
    if (this.socket.destroyed) return;
    this.socket.write(octets);
    if (this.socket.writableLength < BLOCK_AT || this.times.blockedSinceMs > 0) return;
    this.times.blockedSinceMs = this.context.now();
    this.socket.pause();
  }

  /** The peer has read everything, or a transfer is over: go on where the connection stopped. */
  private resume(): void {
    this.times.activeAtMs = this.context.now();
    this.times.blockedSinceMs = 0;
    if (this.transferring || this.times.closingSinceMs > 0) return;
    const held = this.held;
    this.held = undefined;
    if (held) this.answerChunk(held);
    if (this.stopped) return;
    if (this.inputEnded) this.socket.end();
    else this.socket.resume();
  }

  /** The peer has sent all its queries; it still gets all its answers (RFC 7766 §6.2.4 allows either to close first). */
  private endInput(): void {
    this.inputEnded = true;
    if (!this.stopped && !this.held) this.socket.end();
  }

  private async transfer(messages: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const { log } = this.context;
    this.transferring = true;
    this.socket.pause();
    try {
      for await (const message of messages) {
        if (this.socket.destroyed || this.times.closingSinceMs > 0) return;
        this.times.activeAtMs = this.context.now();
        const frame = new Uint8Array(2 + message.length);
        frame[0] = message.length >>> 8;
        frame[1] = message.length;
        frame.set(message, 2);
        this.write(frame);
        if (this.times.blockedSinceMs > 0) await untilWritable(this.socket);
      }
    } catch (error) {
      log.error({ peer: this.peer.address, error: messageOf(error) }, 'a zone transfer broke off');
      this.socket.destroy();
      return;
    } finally {
      this.transferring = false;
    }
    if (!this.socket.destroyed && this.times.blockedSinceMs === 0) this.resume();
  }
}

/** A standard query (opcode 0, QR clear) whose type is AXFR or IXFR. */
function isTransferQuery(bytes: Uint8Array, start: number, length: number): boolean {
  if ((bytes[start + 2]! & 0xf8) !== 0) return false;
  const type = questionType(bytes, start, length);
  return type === Type.axfr || type === Type.ixfr;
}

/** Resolves when the stream has sent what it holds, or is gone. */
function untilWritable(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
