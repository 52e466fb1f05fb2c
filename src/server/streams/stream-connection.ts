/**
 * One DNS connection over a byte stream, TCP or TLS: each message follows its length in two octets (RFC 1035 §4.2.2,
 * RFC 7766).
 *
 * Whole frames are answered in place in the chunk that was read; only an incomplete frame is copied. The answers to one
 * chunk are gathered in one buffer of the process and sent with one write. When the peer does not read, the connection
 * pauses: it keeps the rest of the chunk, reads nothing more, and resumes when the peer has caught up. So the memory of
 * a connection is limited to one chunk, one frame and {@link FLUSH_AT} + one answer of output.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  type Answer,
  type AnswerDeferred,
  type Client,
  createClient,
  DEFERRED,
  type DeferredResult,
  setAddresses,
  Transport,
  type TransportCode,
} from '../../answer/transport.js';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { clientNetwork, parsePeerAddress } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { Type } from '../../dns/codes.js';
import { frameOf } from '../../dns/frames.js';
import { Count, type CountBlock, questionType } from '../counters.js';
import { type AnswerTurns, FRAMES_ELSEWHERE } from '../turns/answer-turns.js';
import { PartialFrame, type PartialRoom, WaitingOctets } from './partial-frame.js';

export interface StreamPeer {
  readonly address: string;
  readonly port: number;
  readonly transport: TransportCode;
  /** False for TLS that RFC 9103 does not allow for transfers: it needs version 1.3 and the protocol `dot` (§7.1, §7.2). */
  readonly mayTransfer: boolean;
  /** Ends the connection at once. */
  readonly cut: () => void;
}

/**
 * Answers that consist of several messages: zone transfers (RFC 5936, RFC 1995). Called for each AXFR and IXFR query;
 * undefined leaves the query to the engine. `request` is a copy. What is yielded are whole frames, which are pulled as fast as
 * the peer reads and need to be valid until the next are pulled.
 */
export type AnswerTransfer = (
  request: Uint8Array,
  peer: StreamPeer,
) => AsyncIterable<Uint8Array> | Iterable<Uint8Array> | undefined;

export interface StreamContext {
  readonly answer: Answer;
  readonly answerTransfer: AnswerTransfer | undefined;
  /** Answers what the engine defers. */
  readonly answerDeferred?: AnswerDeferred | undefined;
  readonly counts: CountBlock;
  readonly log: Logger;
  readonly clock: Clock;
}

/** When a connection began to wait, and for what; 0 when it does not wait. Milliseconds of {@link steadyMs}. */
export interface StreamTimes {
  /** Last octets received from the peer, or last progress of sending to it. */
  activeAtMs: number;
  /** When the current incomplete frame began. */
  partialSinceMs: number;
  /** When the peer stopped reading the written answers. */
  blockedSinceMs: number;
  /** When only the peer's end was still missing. */
  closingSinceMs: number;
}

/** A header has twelve octets; a shorter frame cannot even be refused. */
const SHORTEST_MESSAGE = 12;
const LONGEST_MESSAGE = 65_535;
/** Octets of gathered answers that are written before the rest of the chunk is answered. */
const FLUSH_AT = 192 * 1024;
/** Unsent octets in the stream at which the connection stops answering. */
const BLOCK_AT = 64 * 1024;

/** The buffer for gathering answers; empty whenever no connection is answering. */
const output = new Uint8Array(FLUSH_AT + 2 + LONGEST_MESSAGE);
let gathered = 0;

export class StreamConnection {
  readonly times: StreamTimes;
  readonly peer: StreamPeer;
  /** See {@link clientNetwork}. */
  readonly network: string;
  private readonly client: Client = createClient();
  private readonly partial: PartialFrame;
  /** Octets that were read but not parsed yet, because the peer does not read or a transfer is in progress. */
  private readonly held: WaitingOctets;
  private transferring = false;
  /** Others have their turn. */
  private yielding = false;
  private inputEnded = false;

  constructor(
    readonly socket: Socket,
    private readonly context: StreamContext,
    transport: TransportCode,
    private readonly turns: AnswerTurns,
    partials: PartialRoom,
  ) {
    this.times = { activeAtMs: steadyMs(context.clock), partialSinceMs: 0, blockedSinceMs: 0, closingSinceMs: 0 };
    const mayTransfer = transport !== Transport.tls || isDot(socket as TLSSocket);
    this.peer = {
      address: socket.remoteAddress ?? '',
      port: socket.remotePort ?? 0,
      transport,
      mayTransfer,
      cut: () => void socket.destroy(),
    };
    this.network = clientNetwork(this.peer.address);
    this.partial = new PartialFrame(partials, this.network);
    this.held = new WaitingOctets(partials, this.network);
    const own = parsePeerAddress(socket.localAddress ?? '');
    setAddresses(this.client, parsePeerAddress(this.peer.address), this.peer.port, own);
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => this.resume());
    socket.on('end', () => this.endInput());
    socket.on('close', () => this.forgetInput());
    // 'close' follows, and the list of connections listens to that event.
    socket.on('error', () => {
      context.counts[Count.connectionFailed]! += 1;
    });
  }

  get isTransferring(): boolean {
    return this.transferring;
  }

  /** Whether no query is in progress, so that closing loses nothing. */
  get idle(): boolean {
    return !this.stopped && this.times.partialSinceMs === 0;
  }

  /** Sends what is written, then closes; further input is discarded. */
  finish(): void {
    if (this.times.closingSinceMs > 0) return;
    this.times.closingSinceMs = steadyMs(this.context.clock);
    this.forgetInput();
    this.socket.end();
    this.socket.resume();
  }

  private forgetInput(): void {
    this.partial.clear();
    this.held.take();
  }

  private read(chunk: Uint8Array): void {
    if (this.times.closingSinceMs > 0) return;
    this.times.activeAtMs = steadyMs(this.context.clock);
    if (!this.stopped && this.turns.isFree) this.answerChunk(chunk);
    else if (!this.held.add(chunk)) this.refuseRoom();
    else if (!this.stopped) this.waitForTurn();
  }

  private get stopped(): boolean {
    return this.transferring || this.yielding || this.times.blockedSinceMs > 0;
  }

  /** Answers all whole frames of `chunk` and keeps the rest. */
  private answerChunk(chunk: Uint8Array): void {
    let at = this.partial.length > 0 ? this.completePartial(chunk) : 0;
    let frames = 0;
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
      frames += this.answerFrame(chunk, at + 2, length);
      at += 2 + length;
      if (gathered >= FLUSH_AT) this.flush();
      if (frames >= this.turns.framesATurn && !this.stopped) this.waitForTurn();
    }
    if (this.times.closingSinceMs > 0) return;
    if (this.stopped) this.hold(chunk, at);
    else if (at < chunk.length) this.keepPartial(chunk.subarray(at));
    this.flush();
  }

  private waitForTurn(): void {
    this.flush();
    this.yielding = true;
    this.socket.pause();
    this.turns.wait({ client: this.network }, () => {
      this.yielding = false;
      if (!this.socket.destroyed && this.times.blockedSinceMs === 0) this.resume(true);
    });
  }

  private hold(chunk: Uint8Array, at: number): void {
    if (at < chunk.length && !this.held.add(chunk.subarray(at))) this.refuseRoom();
  }

  /** Returns how much work that was, as a number of frames. */
  private answerFrame(bytes: Uint8Array, start: number, length: number): number {
    const { answer, answerTransfer } = this.context;
    if (answerTransfer && isTransferQuery(bytes, start, length)) {
      const messages = answerTransfer(copyOf(bytes, start, length), this.peer);
      if (messages) {
        this.flush();
        void this.transfer(messages);
        return this.turns.spend(FRAMES_ELSEWHERE);
      }
    }
    this.client.seconds = Math.floor(this.context.clock.nowMs() / 1000);
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
    if (written === DEFERRED) {
      this.answerElsewhere(copyOf(bytes, start, length));
      return this.turns.spend(FRAMES_ELSEWHERE);
    }
    if (written > 0) {
      output[gathered] = written >>> 8;
      output[gathered + 1] = written;
      gathered += 2 + written;
    }
    return this.turns.spend(1);
  }

  private answerElsewhere(request: Uint8Array): void {
    const answer = this.context.answerDeferred?.(request, this.peer.transport, this.peer.address, this.peer.port);
    if (answer instanceof Promise) {
      // Messages of one connection are answered in their order.
      this.flush();
      void this.transfer(laterMessage(answer, this.socket));
      return;
    }
    if (!answer) return;
    output[gathered] = answer.length >>> 8;
    output[gathered + 1] = answer.length;
    output.set(answer, gathered + 2);
    gathered += 2 + answer.length;
  }

  /**
   * Completes the incomplete frame and answers it when it is whole. Returns the number of octets taken from `chunk`.
   */
  private completePartial(chunk: Uint8Array): number {
    let taken = 0;
    if (this.partial.length < 2) {
      this.partial.append(chunk.subarray(0, 1));
      taken = 1;
    }
    const length = this.partial.messageLength;
    if (length < SHORTEST_MESSAGE) {
      this.refuseFrame();
      return chunk.length;
    }
    const missing = 2 + length - this.partial.length;
    const part = chunk.subarray(taken, taken + missing);
    if (!this.partial.append(part)) {
      this.refuseRoom();
      return chunk.length;
    }
    if (part.length === missing) {
      this.times.partialSinceMs = 0;
      this.answerFrame(this.partial.take(), 2, length);
    }
    return taken + part.length;
  }

  private keepPartial(rest: Uint8Array): void {
    if (this.partial.length === 0) this.times.partialSinceMs = this.times.activeAtMs;
    if (!this.partial.append(rest)) this.refuseRoom();
  }

  /** The client keeps too much. */
  private refuseRoom(): void {
    this.context.counts[Count.connectionEvicted]! += 1;
    this.flush();
    this.finish();
  }

  /** The stream is not DNS or has lost its framing: sends the answers so far, then closes. */
  private refuseFrame(): void {
    this.context.counts[Count.frameRefused]! += 1;
    this.flush();
    this.finish();
  }

  /** Writes the gathered answers as a copy, because the stream may still hold it when the buffer is reused. */
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
    this.times.blockedSinceMs = steadyMs(this.context.clock);
    this.socket.pause();
  }

  /** The peer has read everything, or a transfer has ended, or it is its turn: continue where the connection paused. */
  private resume(isTurn = false): void {
    this.times.activeAtMs = steadyMs(this.context.clock);
    this.times.blockedSinceMs = 0;
    if (this.transferring || this.yielding || this.times.closingSinceMs > 0) return;
    if (!this.held.isEmpty && !isTurn && !this.turns.isFree) {
      this.waitForTurn();
      return;
    }
    const held = this.held.take();
    if (held) this.answerChunk(held);
    if (this.stopped) return;
    if (this.inputEnded) this.socket.end();
    else this.socket.resume();
  }

  /**
   * The peer has sent all its queries and still receives all answers (RFC 7766 §6.2.4 allows either side to close
   * first).
   */
  private endInput(): void {
    this.inputEnded = true;
    if (!this.stopped && this.held.isEmpty) this.socket.end();
  }

  private async transfer(answer: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const { log } = this.context;
    this.transferring = true;
    this.socket.pause();
    try {
      for await (const frames of answer) {
        for (let at = 0; at < frames.length; at += BLOCK_AT) {
          if (this.socket.destroyed || this.times.closingSinceMs > 0) return;
          await this.writeWhole(frames.subarray(at, at + BLOCK_AT));
        }
      }
    } catch (error) {
      log.error({ peer: this.peer.address, error: messageOf(error) }, 'a zone transfer was interrupted');
      this.socket.destroy();
      return;
    } finally {
      this.transferring = false;
    }
    if (!this.socket.destroyed && this.times.blockedSinceMs === 0) this.resume();
  }

  /** Resolves when the system has taken the octets, or the stream is closed. */
  private async writeWhole(octets: Uint8Array): Promise<void> {
    this.times.blockedSinceMs = steadyMs(this.context.clock);
    await new Promise<void>((resolve) => void this.socket.write(octets, () => resolve()));
    this.times.activeAtMs = steadyMs(this.context.clock);
    this.times.blockedSinceMs = 0;
  }
}

/** The one message of an answer that comes later; without one the connection ends, so that the client does not wait. */
async function* laterMessage(answer: Promise<DeferredResult>, socket: Socket): AsyncGenerator<Uint8Array> {
  const message = await answer;
  if (message) yield frameOf(message);
  else socket.destroy();
}

/** Not slice: what was read is a Buffer, whose slices are views. */
function copyOf(bytes: Uint8Array, start: number, length: number): Uint8Array {
  return new Uint8Array(bytes.subarray(start, start + length));
}

function isDot(socket: TLSSocket): boolean {
  return socket.alpnProtocol === 'dot' && socket.getProtocol() === 'TLSv1.3';
}

/** Whether it is a standard query (opcode 0, QR clear) for AXFR or IXFR. */
function isTransferQuery(bytes: Uint8Array, start: number, length: number): boolean {
  if ((bytes[start + 2]! & 0xf8) !== 0) return false;
  const type = questionType(bytes, start, length);
  return type === Type.axfr || type === Type.ixfr;
}
