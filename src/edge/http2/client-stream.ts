/** One request of a client over HTTP/2, and the response to it. */
import type { Duplex } from 'node:stream';
import { currentDate } from '../../plain/current-date.js';
import { bounded } from '../exchange/bounded.js';
import type { ClientEvents, ClientResponse } from '../exchange/client-response.js';
import { firstValue, type HeaderList, WITHOUT_BODY } from '../exchange/exchange.js';
import type { Window } from '../exchange/stalls.js';
import { CODE, FLAG, LARGEST_WINDOW, MOST_PAYLOAD } from './frames.js';
import { checkTrailers, MalformedRequest, type RequestFields } from './request-fields.js';
import { responseBlock, trailerBlock } from './response-block.js';
import { StreamDuplex } from './stream-duplex.js';

/** Octets that a client may send ahead of the origin. */
export const STREAM_WINDOW = 1 << 20;

/** What a stream needs of its connection. */
export interface ClientLink {
  /** Frames that were sent in the same turn have not left. */
  readonly turn: number;
  /** Since 1970. */
  nowMs(): number;
  /** Sends a block in one frame or several, of which the first is returned. */
  sendBlock(stream: number, block: Buffer, isLast: boolean): Buffer;
  sendData(stream: number, octets: Buffer, isLast: boolean): void;
  /** Octets that may be overwritten afterwards. False: they may not be sent now, and nothing was done. */
  sendCopy(stream: number, octets: Buffer, isLast: boolean): boolean;
  reset(stream: number, code: number): void;
  widen(stream: number, octets: number): void;
  /** Octets of a body need no more memory. */
  onTaken(octets: number): void;
  /** The stream has something to send. */
  want(stream: ClientStream): void;
  /** The stream has no more to do; called once. */
  over(stream: ClientStream): void;
  /** A fault of this program. */
  onFault(error: unknown): void;
}

const EMPTY = Buffer.alloc(0);
const NONE: HeaderList = [];

export class ClientStream implements ClientResponse {
  readonly endsAtLength = false;
  isGone = false;
  isOver = false;
  /** What the client sends; undefined if it sends nothing but its fields. */
  readonly body: StreamDuplex | undefined;
  /** Called when it has no more to do. */
  whenOver: (() => void) | undefined;
  private events: ClientEvents | undefined;
  private window = STREAM_WINDOW;
  private credit = 0;
  private received = 0;
  /** The client sends no more. */
  private hasEnded: boolean;
  private queue: Buffer[] = [];
  private queued = 0;
  /** Octets that waited and have left. */
  taken = 0;
  private hasBody = true;
  private isEnding = false;
  private hasWaiter = false;
  private trailers: HeaderList = NONE;
  /** What was sent last: while it has not left, it may still become the last frame of the stream. */
  private headFrame: Buffer | undefined;
  private headTurn = -1;

  constructor(
    readonly id: number,
    readonly request: RequestFields,
    isLast: boolean,
    private readonly link: ClientLink,
    /** Octets that the client takes. */
    private sendWindow: number,
  ) {
    this.hasEnded = isLast;
    this.hasBody = request.method !== 'HEAD';
    if (isLast) return;
    this.body = new StreamDuplex(this.bodyLink(), request.method === 'CONNECT');
    // Without a reader, errors must not end the process.
    this.body.on('error', () => {});
  }

  /** Whether it is there for what both sides like to say. */
  get isTunnel(): boolean {
    return this.request.method === 'CONNECT';
  }

  /** What a tunnel says comes in small pieces. */
  get isUpload(): boolean {
    return this.body !== undefined && !this.isTunnel;
  }

  /** Since 1970. */
  nowMs(): number {
    return this.link.nowMs();
  }

  get taker(): Window {
    return this;
  }

  get unsent(): number {
    return this.queued;
  }

  watch(events: ClientEvents): void {
    this.events = events;
  }

  /** Both directions as one stream of Node, which then reports what happens. */
  openTunnel(): Duplex {
    const duplex = this.body ?? new StreamDuplex(this.bodyLink(), true);
    if (!this.body) duplex.finish();
    this.watch({ drained: () => duplex.drained(), closed: () => void duplex.destroy() });
    return duplex;
  }

  inform(status: number, headers: HeaderList): void {
    if (this.isOver || this.headTurn >= 0 || (status === 100 && !this.awaitsContinue)) return;
    this.link.sendBlock(this.id, responseBlock(status, headers), false);
  }

  private get awaitsContinue(): boolean {
    const { fields } = this.request;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === 'expect') return fields[i + 1]!.toLowerCase() === '100-continue';
    }
    return false;
  }

  head(status: number, headers: HeaderList, more: HeaderList): void {
    const date = firstValue(headers, 'date') === undefined ? ['date', currentDate(this.link.nowMs())] : NONE;
    this.sendHead(status, responseBlock(status, [...headers, ...more, ...date]));
  }

  /** `block`: with all fields. */
  sendHead(status: number, block: Buffer): void {
    if (this.isOver) return;
    if (WITHOUT_BODY.has(status)) this.hasBody = false;
    this.headTurn = this.link.turn;
    this.headFrame = this.link.sendBlock(this.id, block, false);
  }

  write(chunk: Buffer): boolean {
    if (this.isOver || !this.hasBody || chunk.length === 0) return true;
    this.queue.push(chunk);
    this.queued += chunk.length;
    this.link.want(this);
    this.hasWaiter = this.queued > 0;
    return !this.hasWaiter;
  }

  /** As {@link write}, or {@link end}, for octets that may be overwritten afterwards. */
  pass(octets: Buffer, isLast: boolean): boolean {
    const mayPass = !this.isOver && this.hasBody && this.queued === 0 && octets.length <= this.sendWindow;
    if (mayPass && this.link.sendCopy(this.id, octets, isLast)) {
      this.sendWindow -= octets.length;
      this.headFrame = undefined;
      if (isLast) this.sent();
      return true;
    }
    const copy = Buffer.from(octets);
    if (!isLast) return this.write(copy);
    this.end(copy, NONE);
    return this.isOver;
  }

  end(chunk: Buffer | undefined, trailers: HeaderList): void {
    if (this.isOver || this.isEnding) return;
    this.trailers = trailers;
    this.isEnding = true;
    if (chunk && this.hasBody && chunk.length > 0) {
      this.queue.push(chunk);
      this.queued += chunk.length;
    }
    this.link.want(this);
  }

  whole(status: number, headers: HeaderList, body: Buffer): void {
    this.head(status, headers, NONE);
    this.end(body, NONE);
  }

  cut(): void {
    this.fail(CODE.internal);
  }

  /** Sends at most one frame of so many octets. Returns whether it has more that may be sent. */
  sendSome(most: number): boolean {
    if (this.isOver) return false;
    const octets = Math.min(this.queue[0]?.length ?? 0, this.sendWindow, most, MOST_PAYLOAD);
    if (octets > 0) {
      const first = this.queue[0]!;
      if (octets < first.length) this.queue[0] = first.subarray(octets);
      else this.queue.shift();
      this.queued -= octets;
      this.taken += octets;
      this.sendWindow -= octets;
      this.headFrame = undefined;
      const isLast = this.isEnding && this.queued === 0 && this.trailers.length === 0;
      this.link.sendData(this.id, octets < first.length ? first.subarray(0, octets) : first, isLast);
      if (isLast) this.sent();
    }
    if (this.isOver) return false;
    if (this.queued > 0) return this.sendWindow > 0;
    if (this.isEnding) this.sendEnd();
    else if (this.hasWaiter) {
      this.hasWaiter = false;
      this.tell((events) => events.drained());
    }
    return this.queued > 0 && this.sendWindow > 0;
  }

  private sendEnd(): void {
    const { trailers, headFrame } = this;
    if (trailers.length > 0 && this.hasBody) this.link.sendBlock(this.id, trailerBlock(trailers), true);
    else if (headFrame && this.headTurn === this.link.turn) headFrame[FLAGS_AT]! |= FLAG.endStream;
    else this.link.sendData(this.id, EMPTY, true);
    this.sent();
  }

  /** The whole response was sent. */
  private sent(): void {
    // After it, the rest of a request is not needed (RFC 9113 §8.1).
    if (!this.hasEnded) this.link.reset(this.id, CODE.none);
    this.finish(true);
  }

  /** `grown` may be less than nothing. False if the window is then too large. */
  widenSending(grown: number): boolean {
    this.sendWindow += grown;
    if (this.sendWindow > LARGEST_WINDOW) return false;
    if (this.queued > 0 && this.sendWindow > 0) this.link.want(this);
    return true;
  }

  /** `taken`: octets that count for the window, padding included. Throws a {@link MalformedRequest}. */
  onData(octets: Buffer, taken: number, isLast: boolean): void {
    if (this.hasEnded) throw new MalformedRequest('data after the end', CODE.streamClosed);
    this.window -= taken;
    if (this.window < 0) throw new MalformedRequest('more than the window', CODE.flowControl);
    this.received += octets.length;
    if (this.received > (this.request.length ?? Number.POSITIVE_INFINITY)) throw new MalformedRequest('too much data');
    if (isLast) this.checkEnd();
    this.giveBack(taken - octets.length);
    this.body!.receive(octets);
    if (isLast) this.endRequest();
  }

  /** Fields after the body. Throws a {@link MalformedRequest}. */
  onTrailers(list: readonly string[], isLast: boolean): void {
    if (this.hasEnded) throw new MalformedRequest('fields after the end', CODE.streamClosed);
    if (!isLast) throw new MalformedRequest('fields where none may be');
    checkTrailers(list);
    this.checkEnd();
    this.endRequest();
  }

  private checkEnd(): void {
    const { length } = this.request;
    if (length !== undefined && this.received !== length)
      throw new MalformedRequest('less data than Content-Length says');
  }

  private endRequest(): void {
    this.hasEnded = true;
    this.body!.finish();
  }

  /** The stream is no more. */
  onReset(): void {
    this.finish(false);
  }

  /** Ends the stream; the client is told with this code. */
  fail(code: number): void {
    if (this.isOver) return;
    this.link.reset(this.id, code);
    this.finish(false);
  }

  private bodyLink() {
    return {
      onTaken: (octets: number): void => {
        this.giveBack(octets);
        this.link.onTaken(octets);
      },
      taker: this,
      write: (chunk: Buffer): boolean => this.write(chunk),
      end: (): void => this.end(undefined, NONE),
      // A tunnel has no other end. What is left of a body does not matter before its response.
      onUnwanted: (): void => {
        if (this.isTunnel) this.fail(CODE.cancel);
      },
    };
  }

  private giveBack(octets: number): void {
    this.credit += octets;
    if (this.hasEnded || this.isOver || this.credit < STREAM_WINDOW / 2) return;
    this.window += this.credit;
    this.link.widen(this.id, this.credit);
    this.credit = 0;
  }

  /** A fault of who answers must end neither other streams nor the process. */
  private tell(event: (events: ClientEvents) => void): void {
    const { events } = this;
    if (!events) return;
    bounded(
      (error) => {
        this.link.onFault(error);
        this.fail(CODE.internal);
      },
      () => event(events),
    );
  }

  private finish(isSent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.isGone = !isSent;
    this.queue = [];
    this.queued = 0;
    this.link.over(this);
    this.whenOver?.();
    if (this.body?.complete) this.body.release();
    else this.body?.destroy();
    this.tell((events) => events.closed(isSent));
  }
}

const FLAGS_AT = 4;
