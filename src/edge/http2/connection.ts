/**
 * A connection to an origin over HTTP/2 (RFC 9113). It is written here because Node's client can be brought, by resets that come at
 * the wrong moment, into a loop of native code that nothing ends. Whatever an origin sends, this one ends its connection at worst.
 */
import type { TLSSocket } from 'node:tls';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { OriginEvents, OriginRequest } from '../exchange/exchange.js';
import { ORIGIN_CLOSED, ORIGIN_RESPONSE_TIMEOUT } from '../exchange/origin-failure.js';
import {
  CODE,
  ConnectionError,
  contentOf,
  FIRST_WINDOW,
  FLAG,
  FRAME,
  type Frame,
  FrameReader,
  frame,
  LARGEST_WINDOW,
  MOST_PAYLOAD,
  number,
  PREFACE,
  readNumber,
  readSettings,
  SETTING,
  settings,
} from './frames.js';
import { BlockReader, HpackError, writeBlock } from './hpack.js';
import { MalformedResponse } from './response-fields.js';
import { STREAM_WINDOW, Stream, type StreamLink } from './stream.js';

const MOST_LIST_OCTETS = 32_768;
const MOST_FIELDS = 200;
/** Of one block as it arrives, octets and frames. */
const MOST_BLOCK_OCTETS = 65_536;
const MOST_BLOCK_FRAMES = 64;
/** Requests at once over a connection. */
const MOST_STREAMS = 100;
/** Frames in a row that bring no response any further. */
const MOST_IDLE_FRAMES = 1000;
/** Octets that may wait for an origin that does not read. */
const MOST_UNREAD = 1024 * 1024;
/** Streams of a connection; then another one is opened. */
const LAST_STREAM = 2 ** 30;
/** Milliseconds until a connection is closed that was ended. */
const END_MS = 1000;
/** What all streams together may receive; each has its own window besides. */
const CONNECTION_WINDOW = MOST_STREAMS * STREAM_WINDOW;

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Milliseconds until the head of a response, and between two parts of its body. */
  readonly waitMs: number;
  /** The connection has room for another request. */
  readonly onFree: () => void;
  /** It takes no further requests. */
  readonly onRetired: () => void;
}

export class Http2Connection implements StreamLink {
  private readonly streams = new Map<number, Stream>();
  private readonly waitingSince = new Map<number, number>();
  /** Streams for which data came in this piece. */
  private readonly fed = new Set<Stream>();
  private readonly reader = new FrameReader((each) => this.onFrame(each));
  private readonly blocks = new BlockReader({ listOctets: MOST_LIST_OCTETS, fields: MOST_FIELDS });
  private block: { readonly stream: number; readonly isLast: boolean; parts: Buffer[]; octets: number } | undefined;
  private lastStream = -1;
  private mostStreams = MOST_STREAMS;
  private firstWindow = FIRST_WINDOW;
  private sendWindow = FIRST_WINDOW;
  private received = 0;
  private idleFrames = 0;
  private hasSettings = false;
  private isRetired = false;
  /** It sends nothing more, and what comes is not read. */
  private isEnding = false;
  private idleSinceMs: number;
  private error: Error | undefined;

  constructor(
    private readonly socket: TLSSocket,
    private readonly options: ConnectionOptions,
  ) {
    this.idleSinceMs = steadyMs(options.clock);
    socket.setNoDelay(true);
    socket.on('data', (octets: Buffer) => this.feed(octets));
    socket.on('drain', () => this.sendBodies());
    socket.on('error', (error) => (this.error ??= error));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.onClose());
    const first = settings([
      [SETTING.enablePush, 0],
      [SETTING.initialWindow, STREAM_WINDOW],
      [SETTING.listOctets, MOST_LIST_OCTETS],
    ]);
    const widened = frame(FRAME.windowUpdate, 0, 0, number(CONNECTION_WINDOW - FIRST_WINDOW));
    socket.write(Buffer.concat([PREFACE, first, widened]));
  }

  get hasRoom(): boolean {
    return !this.isRetired && this.streams.size < this.mostStreams && this.socket.writableLength < MOST_UNREAD;
  }

  get isIdle(): boolean {
    return this.streams.size === 0;
  }

  /** `isLast`: the connection takes no further request. */
  send(request: OriginRequest, events: OriginEvents, isLast: boolean): Stream {
    const isFirst = this.lastStream < 0;
    const block = writeBlock(requestFields(request), isFirst);
    const id = isFirst ? 1 : this.lastStream + 2;
    this.lastStream = id;
    const stream = new Stream(id, request, events, this, this.firstWindow, () => {
      this.idleFrames = 0;
      this.waitingSince.set(id, steadyMs(this.options.clock));
    });
    this.streams.set(id, stream);
    this.waitingSince.set(id, steadyMs(this.options.clock));
    this.writeHeaders(id, block, request.body === undefined);
    stream.sendSome();
    if (isLast || id >= LAST_STREAM) this.retire();
    return stream;
  }

  private writeHeaders(id: number, block: Buffer, isLast: boolean): void {
    const parts: Buffer[] = [];
    for (let at = 0; at === 0 || at < block.length; at += MOST_PAYLOAD) {
      const end = at + MOST_PAYLOAD >= block.length ? FLAG.endHeaders : 0;
      const type = at === 0 ? FRAME.headers : FRAME.continuation;
      const flags = end | (at === 0 && isLast ? FLAG.endStream : 0);
      parts.push(frame(type, flags, id, block.subarray(at, at + MOST_PAYLOAD)));
    }
    this.socket.write(Buffer.concat(parts));
  }

  /** Finishes what it has, and takes nothing more. */
  retire(): void {
    if (this.isRetired) return;
    this.isRetired = true;
    this.options.onRetired();
    if (this.isIdle) this.end(CODE.none);
  }

  destroy(): void {
    this.socket.destroy();
  }

  checkTime(nowMs: number, idleMs: number): void {
    for (const [id, stream] of this.streams) {
      if (!stream.isWaiting) this.waitingSince.set(id, nowMs);
      else if (nowMs - this.waitingSince.get(id)! >= this.options.waitMs) {
        const error = Object.assign(new Error('no response in time'), { code: ORIGIN_RESPONSE_TIMEOUT });
        stream.fail(error, CODE.cancel);
      }
    }
    if (this.isIdle && nowMs - this.idleSinceMs >= idleMs) this.retire();
  }

  room(): number {
    return this.socket.writableNeedDrain || this.socket.destroyed ? 0 : this.sendWindow;
  }

  sendData(stream: number, octets: Buffer, isLast: boolean): void {
    this.sendWindow -= octets.length;
    this.write(frame(FRAME.data, isLast ? FLAG.endStream : 0, stream, octets));
  }

  reset(stream: number, code: number): void {
    this.write(frame(FRAME.reset, 0, stream, number(code)));
  }

  widen(stream: number, octets: number): void {
    this.write(frame(FRAME.windowUpdate, 0, stream, number(octets)));
  }

  over(stream: Stream): void {
    this.streams.delete(stream.id);
    this.waitingSince.delete(stream.id);
    if (!this.isIdle) {
      if (!this.isRetired) this.options.onFree();
      return;
    }
    this.idleSinceMs = steadyMs(this.options.clock);
    if (this.isRetired) this.end(CODE.none);
    else this.options.onFree();
  }

  private write(octets: Buffer): void {
    if (this.isEnding || !this.socket.writable) return;
    this.socket.write(octets);
    // An origin that asks and asks, and does not read what it is told.
    if (this.socket.writableLength > 2 * MOST_UNREAD) this.breakOff(CODE.enhanceYourCalm, 'the origin does not read');
  }

  private feed(octets: Buffer): void {
    if (this.isEnding) return;
    try {
      this.reader.feed(octets);
      for (const stream of this.fed) stream.flush();
    } catch (error) {
      const code = error instanceof ConnectionError ? error.http2Code : CODE.internal;
      this.breakOff(error instanceof HpackError ? CODE.compression : code, String((error as Error).message));
    }
    this.fed.clear();
  }

  private breakOff(code: number, reason: string): void {
    if (this.isEnding) return;
    this.error ??= new Error(`the origin breaks HTTP/2: ${reason}`);
    this.end(code);
    this.closeStreams();
  }

  private end(code: number): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.retire();
    if (this.socket.writable) this.socket.write(frame(FRAME.goAway, 0, 0, number(0), number(code)));
    this.socket.destroySoon();
    // One that does not read is not waited for.
    this.options.clock.after(END_MS, () => this.socket.destroy());
  }

  private onClose(): void {
    this.isEnding = true;
    this.retire();
    this.closeStreams();
  }

  private closeStreams(): void {
    const error = this.error ?? Object.assign(new Error('other side closed'), { code: ORIGIN_CLOSED });
    for (const stream of [...this.streams.values()]) stream.close(error);
  }

  private onFrame(each: Frame): void {
    if (this.isEnding) return;
    const { type, stream } = each;
    if (!this.hasSettings && type !== FRAME.settings) throw new ConnectionError(CODE.protocol, 'no settings at first');
    if (this.block && (type !== FRAME.continuation || stream !== this.block.stream)) {
      throw new ConnectionError(CODE.protocol, 'a block of fields is interrupted');
    }
    this.idleFrames += 1;
    if (this.idleFrames > MOST_IDLE_FRAMES) throw new ConnectionError(CODE.enhanceYourCalm, 'frames without end');
    if (type === FRAME.data) this.onData(each);
    else if (type === FRAME.headers || type === FRAME.continuation) this.onBlock(each);
    else if (type === FRAME.settings) this.onSettings(each);
    else if (type === FRAME.ping) this.onPing(each);
    else if (type === FRAME.windowUpdate) this.onWindowUpdate(each);
    else if (type === FRAME.reset) this.ofOpen(each, readNumber(each), (open, code) => open.onReset(code));
    else if (type === FRAME.goAway) this.onGoAway(each);
    else if (type === FRAME.pushPromise) throw new ConnectionError(CODE.protocol, 'a push that was not allowed');
    // Others are ignored (RFC 9113 §4.1).
  }

  /** Streams that are over already are none of ours any more; those that never were are an error (RFC 9113 §5.1). */
  private find({ stream }: Frame): Stream | undefined {
    if (stream === 0 || stream % 2 === 0 || stream > this.lastStream) {
      throw new ConnectionError(CODE.protocol, `a frame for stream ${stream}`);
    }
    return this.streams.get(stream);
  }

  private ofOpen(each: Frame, value: number, act: (open: Stream, value: number) => void): void {
    const open = this.find(each);
    if (open) act(open, value);
  }

  /** A response that is malformed ends its stream. */
  private within(open: Stream, act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      open.fail(new Error(`the origin's response is malformed: ${error.message}`), CODE.protocol);
    }
  }

  private onData(each: Frame): void {
    const open = this.find(each);
    const octets = contentOf(each);
    const taken = each.payload.length;
    this.received += taken;
    if (this.received > CONNECTION_WINDOW) throw new ConnectionError(CODE.flowControl, 'more than the window');
    // At once: what one client does not take keeps nothing from others. Its stream has a window of its own.
    if (this.received >= CONNECTION_WINDOW / 2) {
      this.widen(0, this.received);
      this.received = 0;
    }
    if (!open) return;
    this.fed.add(open);
    const isLast = (each.flags & FLAG.endStream) !== 0;
    // Frames without octets are not progress.
    const idle = this.idleFrames;
    this.within(open, () => {
      if (!open.onData(octets, taken, isLast)) throw new ConnectionError(CODE.flowControl, 'more than the window');
    });
    if (octets.length === 0 && !isLast) this.idleFrames = idle;
  }

  private onBlock(each: Frame): void {
    const isFirst = each.type === FRAME.headers;
    if (!isFirst && !this.block) throw new ConnectionError(CODE.protocol, 'CONTINUATION of nothing');
    if (isFirst) {
      this.find(each);
      const isLast = (each.flags & FLAG.endStream) !== 0;
      this.block = { stream: each.stream, isLast, parts: [], octets: 0 };
    }
    const block = this.block!;
    // A copy, because more may come in the next piece.
    block.parts.push(Buffer.from(isFirst ? contentOf(each) : each.payload));
    block.octets += each.payload.length;
    if (block.octets > MOST_BLOCK_OCTETS || block.parts.length > MOST_BLOCK_FRAMES) {
      throw new ConnectionError(CODE.enhanceYourCalm, 'a block of fields without end');
    }
    if (!(each.flags & FLAG.endHeaders)) return;
    this.block = undefined;
    // The table is kept up to date, also by fields that nobody wants any more.
    const fields = this.blocks.read(Buffer.concat(block.parts));
    const open = this.streams.get(block.stream);
    if (open) this.within(open, () => open.onFields(fields, block.isLast));
  }

  private onSettings(each: Frame): void {
    if (each.stream !== 0) throw new ConnectionError(CODE.protocol, 'settings of a stream');
    if (each.flags & FLAG.ack) return;
    for (const [setting, value] of readSettings(each)) {
      if (setting === SETTING.mostStreams) this.mostStreams = Math.min(value, MOST_STREAMS);
      if (setting !== SETTING.initialWindow) continue;
      if (value > LARGEST_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
      const grown = value - this.firstWindow;
      this.firstWindow = value;
      for (const stream of this.streams.values()) this.widenStream(stream, grown);
    }
    this.hasSettings = true;
    this.write(frame(FRAME.settings, FLAG.ack, 0));
    this.sendBodies();
    if (this.hasRoom) this.options.onFree();
  }

  private onPing(each: Frame): void {
    if (each.payload.length !== 8) throw new ConnectionError(CODE.frameSize, 'a PING of a wrong length');
    if (!(each.flags & FLAG.ack)) this.write(frame(FRAME.ping, FLAG.ack, 0, each.payload));
  }

  private onWindowUpdate(each: Frame): void {
    const grown = readNumber(each) & LARGEST_WINDOW;
    if (grown === 0) throw new ConnectionError(CODE.protocol, 'a window that grows by nothing');
    if (each.stream === 0) {
      this.sendWindow += grown;
      if (this.sendWindow > LARGEST_WINDOW) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
      this.sendBodies();
      return;
    }
    this.ofOpen(each, grown, (open) => {
      this.widenStream(open, grown);
      open.sendSome();
    });
  }

  private widenStream(stream: Stream, grown: number): void {
    if (!stream.widenSending(grown)) throw new ConnectionError(CODE.flowControl, 'a window that is too large');
  }

  private onGoAway(each: Frame): void {
    if (each.payload.length < 8) throw new ConnectionError(CODE.frameSize, 'a GOAWAY of a wrong length');
    const last = each.payload.readUInt32BE(0) & LARGEST_WINDOW;
    this.retire();
    for (const stream of [...this.streams.values()]) {
      // The origin has not begun with these (RFC 9113 §6.8).
      const error = Object.assign(new Error('the origin goes away'), { code: ORIGIN_CLOSED });
      if (stream.id > last) stream.close(error);
    }
  }

  private sendBodies(): void {
    for (const stream of this.streams.values()) {
      if (this.room() <= 0) return;
      stream.sendSome();
    }
  }
}

/** The fields of a request, as HTTP/2 has them (RFC 9113 §8.3.1). Throws a TypeError if one holds what no field may. */
function requestFields({ method, target, headers, more }: OriginRequest): string[] {
  const fields = [':method', method, ':scheme', 'https', ':authority', '', ':path', target];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (name === 'host') fields[5] = value;
    else fields.push(name, value);
  }
  fields.push(...more);
  if (fields.some((text) => NOT_SENT.test(text))) throw new TypeError('the request holds what no request may');
  return fields;
}

const NOT_SENT = /[\0\r\n]|[^\0-\xff]/;
