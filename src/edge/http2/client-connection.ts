/**
 * A connection of a client over HTTP/2 (RFC 9113). It is read and answered here because Node's server takes several times as long for a
 * request as everything else that the edge does. Whatever a client sends, it ends its stream or its connection at worst.
 */
import type { TLSSocket } from 'node:tls';
import { type Clock, steadyMs } from '../../base/clock.js';
import { type FurtherRequests, REQUESTS_A_TURN } from '../../base/connections/in-turns.js';
import { kept, shareReads } from '../../plain/shared-reads.js';
import type { ClientStreams, OpenStreams } from '../exchange/open-streams.js';
import type { Sending, Stalls } from '../exchange/stalls.js';
import { ClientFrames, type FramesOwner, MOST_LIST_OCTETS, MOST_STREAMS } from './client-frames.js';
import { type ClientStream, STREAM_WINDOW } from './client-stream.js';
import { Flood, type FloodKind, FrameBudget } from './frame-budget.js';
import { CODE, ConnectionError, FRAME, frame, number, SETTING, settings } from './frames.js';
import { HpackError } from './hpack.js';
import { InboxWindow, type WindowShares } from './inbox-window.js';
import { Outbox } from './outbox.js';

/** From this many resets of a connection on, requests wait until everything that came with them was read. */
const SUSPECT_RESETS = 4;
/** Octets that may wait for a client that does not read; until it does, nothing more of it is read. */
const MOST_UNREAD = 256 * 1024;
/** The fields kept for a connection are dropped after this idle time, milliseconds. */
const FORGET_MS = 5000;
/** Milliseconds until a connection is closed that was ended because of what its client sent. */
const END_MS = 1000;
/** Likewise, of one that has its last response. */
const TAKE_MS = 60_000;

const FIRST_SETTINGS = settings([
  [SETTING.mostStreams, MOST_STREAMS],
  [SETTING.initialWindow, STREAM_WINDOW],
  [SETTING.listOctets, MOST_LIST_OCTETS],
  [SETTING.connectProtocol, 1],
]);

export interface ClientConnectionOptions {
  readonly clock: Clock;
  /** What counts as one client. */
  readonly client: string;
  readonly shares: WindowShares;
  readonly stalls: Stalls;
  readonly open: OpenStreams;
  /** Milliseconds until the client's settings have come, and until one that asks for nothing answers a PING. */
  readonly prefaceMs: number;
  readonly idleMs: number;
  readonly further: FurtherRequests;
  readonly onRequest: (stream: ClientStream) => void;
  /** The connection ends because its client broke the protocol, or reset stream after stream. */
  readonly onFlood: (kind: FloodKind) => void;
  readonly onClose: () => void;
  /** A fault of this program ended the connection. */
  readonly onFault: (error: unknown) => void;
}

export class ClientConnection implements FramesOwner, Sending {
  readonly streams = new Map<number, ClientStream>();
  readonly outbox: Outbox;
  readonly inbox: InboxWindow;
  readonly budget: FrameBudget;
  readonly ofClient: ClientStreams;
  /** No further requests are taken. */
  isRetired = false;
  /** It sends nothing more, and what comes is not read. */
  isEnding = false;
  private readonly frames = new ClientFrames(this);
  /** Requests that have come and were not begun. */
  private asked: ClientStream[] = [];
  private isYielding = false;
  private lastTaken = 0;
  private idleSinceMs: number;
  private cancelWait: () => void;

  constructor(
    private readonly socket: TLSSocket,
    private readonly options: ClientConnectionOptions,
  ) {
    const { clock, client, shares, open, prefaceMs } = options;
    this.ofClient = open.join(client);
    this.idleSinceMs = steadyMs(clock);
    this.budget = new FrameBudget(this.idleSinceMs);
    this.outbox = new Outbox(
      socket,
      (octets) => this.budget.sent(octets),
      () => this.onFull(),
      (error) => this.onBroken(error),
    );
    this.inbox = new InboxWindow(shares, client, (octets) => this.outbox.sendNumber(FRAME.windowUpdate, 0, octets));
    this.cancelWait = clock.after(prefaceMs, () => this.checkPresence());
    socket.on('data', (octets: Buffer) => this.feed(octets));
    socket.on('drain', () => this.onDrain());
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.onClose());
    shareReads(socket, (octets) => this.onOctets(octets));
    this.outbox.send(FIRST_SETTINGS);
  }

  get taker(): TLSSocket {
    return this.socket;
  }

  get turn(): number {
    return this.outbox.turn;
  }

  nowMs(): number {
    return this.options.clock.nowMs();
  }

  /** Finishes what it has, and takes nothing more. */
  retire(): void {
    if (this.isRetired) return;
    this.sendGoAway(CODE.none);
    this.isRetired = true;
    this.endIfDone();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The client takes too little. */
  cut(): void {
    this.socket.destroy();
  }

  checkTime(nowMs: number): void {
    if (this.streams.size > 0) return;
    const ms = nowMs - this.idleSinceMs;
    if (ms >= FORGET_MS) this.frames.forget();
    if (ms >= this.options.idleMs) this.retire();
  }

  sendBlock(stream: number, block: Buffer, isLast: boolean): Buffer {
    return this.outbox.sendBlock(stream, block, isLast);
  }

  sendData(stream: number, octets: Buffer, isLast: boolean): void {
    this.outbox.sendData(stream, octets, isLast);
  }

  sendCopy(stream: number, octets: Buffer, isLast: boolean): boolean {
    return this.outbox.sendCopy(stream, octets, isLast);
  }

  reset(stream: number, code: number): void {
    this.outbox.sendNumber(FRAME.reset, stream, code);
  }

  widen(stream: number, octets: number): void {
    this.outbox.sendNumber(FRAME.windowUpdate, stream, octets);
  }

  onTaken(octets: number): void {
    this.inbox.release(octets);
  }

  want(stream: ClientStream): void {
    this.outbox.want(stream);
  }

  over(stream: ClientStream): void {
    this.streams.delete(stream.id);
    this.ofClient.open--;
    this.outbox.forget(stream);
    if (stream.isUpload) this.inbox.endUpload();
    if (this.streams.size > 0) return;
    this.idleSinceMs = steadyMs(this.options.clock);
    this.endIfDone();
  }

  /** Nothing was done for it, so the client may ask again (RFC 9113 §8.7). */
  refuse(stream: number): void {
    this.options.open.refuse();
    this.reset(stream, CODE.refusedStream);
  }

  onRequest(stream: ClientStream): void {
    this.asked.push(stream);
  }

  onPresent(): void {
    this.cancelWait();
  }

  onFault(error: unknown): void {
    this.options.onFault(error);
  }

  private endIfDone(): void {
    if (this.isRetired && this.streams.size === 0) this.end(CODE.none);
  }

  /**
   * A client begins with its settings (RFC 9113 §3.4). Node does not report a reset that comes right after the handshake, nor between
   * settings and first request. Then a PING shows whether the client is there.
   */
  private checkPresence(): void {
    if (!this.frames.hasSettings) this.destroy();
    else if (this.frames.lastStream === 0 && !this.isEnding) {
      this.cancelWait = this.options.clock.after(this.options.prefaceMs, () => this.destroy());
      this.outbox.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    }
  }

  /** What came before goes the way of all streams. */
  private onOctets(octets: Buffer): boolean {
    if (this.socket.readableLength > 0) return this.socket.push(kept(octets));
    this.feed(octets);
    return true;
  }

  private feed(octets: Buffer): void {
    if (this.isEnding) return;
    this.outbox.hold();
    try {
      this.budget.begin(steadyMs(this.options.clock));
      this.frames.feed(octets);
    } catch (error) {
      this.breakOff(error);
    }
    if (this.budget.resets < SUSPECT_RESETS) this.beginRequests();
    else if (this.asked.length > 0) this.yieldTurn();
    this.outbox.flush();
  }

  /** Those that were reset before everything was read cost nothing more. */
  private beginRequests(): void {
    if (this.asked.length === 0 || this.isYielding) return;
    const further = Math.min(this.asked.length, REQUESTS_A_TURN) - 1;
    const due = this.asked.splice(0, 1 + this.options.further.take(further));
    for (const stream of due) if (!stream.isOver) this.options.onRequest(stream);
    if (this.asked.length > 0) this.yieldTurn();
  }

  /** Others have their turn. */
  private yieldTurn(): void {
    if (this.isYielding) return;
    this.isYielding = true;
    setImmediate(() => {
      this.isYielding = false;
      this.outbox.hold();
      this.beginRequests();
      this.outbox.flush();
    });
  }

  private breakOff(error: unknown): void {
    const isOurs = !(error instanceof ConnectionError || error instanceof HpackError);
    const code = error instanceof ConnectionError ? error.http2Code : isOurs ? CODE.internal : CODE.compression;
    if (!isOurs) this.options.onFlood(error instanceof Flood ? error.kind : 'broken');
    this.end(code);
    this.closeStreams();
    if (isOurs) this.options.onFault(error);
  }

  private end(code: number): void {
    if (this.isEnding) return;
    this.isEnding = true;
    if (!this.isRetired || code !== CODE.none) this.sendGoAway(code);
    this.isRetired = true;
    this.outbox.flush();
    this.socket.destroySoon();
    this.cancelWait();
    // One that reads slowly gets what was sent; one that breaks the rules is not waited for.
    const ms = code === CODE.none ? TAKE_MS : END_MS;
    this.cancelWait = this.options.clock.after(ms, () => this.socket.destroy());
  }

  /** The last request that it names never grows. */
  private sendGoAway(code: number): void {
    if (!this.isRetired) this.lastTaken = this.frames.lastStream;
    this.outbox.send(frame(FRAME.goAway, 0, 0, number(this.lastTaken), number(code)));
  }

  private onClose(): void {
    this.cancelWait();
    this.isEnding = true;
    this.isRetired = true;
    this.options.stalls.forget(this);
    this.closeStreams();
    this.inbox.close();
    this.options.open.leave(this.options.client);
    this.options.onClose();
  }

  private closeStreams(): void {
    this.asked = [];
    for (const stream of [...this.streams.values()]) stream.onReset();
  }

  /** What was gathered cannot be written: this connection ends, and no other. */
  private onBroken(error: unknown): void {
    this.socket.destroy();
    this.options.onFault(error);
  }

  private onFull(): void {
    this.options.stalls.watch(this);
    if (this.socket.writableLength > MOST_UNREAD) this.socket.pause();
  }

  private onDrain(): void {
    this.options.stalls.forget(this);
    this.socket.resume();
    this.outbox.pump();
  }
}
