/** One request and its response over a connection of HTTP/2. */
import type { Readable } from 'node:stream';
import { type OriginControl, type OriginEvents, type OriginRequest, WITHOUT_BODY } from '../exchange/exchange.js';
import { ORIGIN_CLOSED } from '../exchange/origin-failure.js';
import { CODE, LARGEST_WINDOW, MOST_PAYLOAD } from './frames.js';
import { lengthOf, MalformedResponse, readResponseFields } from './response-fields.js';

/** Octets that an origin may send ahead of the client. */
export const STREAM_WINDOW = 256 * 1024;
/** Octets of small pieces that are kept as one for a client that takes nothing: each piece takes memory of its own. */
const KEPT_AS_ONE = 16 * 1024;
/** Responses before the final one. */
const MOST_INTERIM = 64;

/** What a stream needs of its connection. */
export interface StreamLink {
  /** Octets of bodies that may be sent now, by all streams together. */
  room(): number;
  sendData(stream: number, octets: Buffer, isLast: boolean): void;
  reset(stream: number, code: number): void;
  widen(stream: number, octets: number): void;
  /** The stream has no more to do; called once. */
  over(stream: Stream): void;
}

export class Stream implements OriginControl {
  /** Octets of the body that the origin takes. */
  sendWindow: number;
  private pending: Buffer | undefined;
  private bodyEnded: boolean;
  private isSent = false;
  private received: Buffer[] = [];
  /** Data that came in one piece, perhaps in very many frames: the client gets it at once. It refers to the memory of the connection. */
  private gathered: Buffer[] = [];
  private credit = 0;
  private window = STREAM_WINDOW;
  private missing: number | undefined;
  private interim = 0;
  private hasHead = false;
  private hasEnded = false;
  private trailers: readonly string[] = [];
  private isPaused = false;
  isOver = false;
  private readonly body: Readable | undefined;
  private readonly isHead: boolean;

  constructor(
    readonly id: number,
    { body, method }: OriginRequest,
    private readonly events: OriginEvents,
    private readonly link: StreamLink,
    firstWindow: number,
    /** Something has moved: the stream is not waiting in vain. */
    private readonly onProgress: () => void,
  ) {
    this.sendWindow = firstWindow;
    this.body = body;
    this.bodyEnded = body === undefined;
    this.isHead = method === 'HEAD';
    body?.on('readable', () => this.sendSome());
    body?.once('end', () => {
      this.bodyEnded = true;
      this.sendSome();
    });
    body?.once('error', (error) => this.fail(error, CODE.cancel));
    body?.once('close', () => {
      if (!this.bodyEnded) this.fail(new Error('the body was cut off'), CODE.cancel);
    });
  }

  /** Whether octets are awaited from the origin: it is neither the client's turn nor that of the body. */
  get isWaiting(): boolean {
    return !this.isPaused && (this.bodyEnded || this.pending !== undefined);
  }

  /** Sends what body there is and may be sent. */
  sendSome(): void {
    const { body } = this;
    if (!body) return;
    while (!this.isOver) {
      this.pending ??= (body.read() as Buffer | null) ?? undefined;
      if (!this.pending) break;
      const most = Math.min(this.pending.length, this.sendWindow, this.link.room(), MOST_PAYLOAD);
      if (most <= 0) return;
      this.sendWindow -= most;
      const octets = this.pending.subarray(0, most);
      this.pending = most < this.pending.length ? this.pending.subarray(most) : undefined;
      this.onProgress();
      this.link.sendData(this.id, octets, false);
    }
    if (this.isOver || !this.bodyEnded || this.isSent) return;
    this.isSent = true;
    this.link.sendData(this.id, Buffer.alloc(0), true);
  }

  /** `grown` may be less than nothing. False if the window is then too large. */
  widenSending(grown: number): boolean {
    this.sendWindow += grown;
    return this.sendWindow <= LARGEST_WINDOW;
  }

  onFields(list: readonly string[] | undefined, isLast: boolean): void {
    if (this.isOver) return;
    this.flush();
    this.onProgress();
    if (!list) throw new MalformedResponse('too many fields');
    if (this.hasEnded) throw new MalformedResponse('fields after the end');
    if (this.hasHead) {
      if (!isLast) throw new MalformedResponse('trailers before the end');
      this.trailers = readResponseFields(list, true).fields;
      this.end();
      return;
    }
    const { status, fields } = readResponseFields(list, false);
    if (status! < 200) {
      if (isLast || status === 101 || ++this.interim > MOST_INTERIM)
        throw new MalformedResponse(`the status ${status}`);
      this.events.onInformation(status!, fields);
      return;
    }
    this.hasHead = true;
    const hasBody = !this.isHead && !WITHOUT_BODY.has(status!);
    this.missing = hasBody ? lengthOf(fields) : isLast ? undefined : 0;
    // Servers by Node mark the last frame also of a response that they break off, and then reset the stream.
    this.events.onHead(status!, fields, isLast || this.missing !== undefined);
    if (isLast) this.end();
  }

  /** `taken`: octets that count for the window, padding included. False if the origin sends more than it may. */
  onData(octets: Buffer, taken: number, isLast: boolean): boolean {
    if (this.isOver) return true;
    this.onProgress();
    if (!this.hasHead || this.hasEnded) throw new MalformedResponse('data where none may be');
    this.window -= taken;
    if (this.window < 0) return false;
    if (this.missing !== undefined && (this.missing -= octets.length) < 0) throw new MalformedResponse('too much data');
    this.giveBack(taken - octets.length);
    if (octets.length > 0) this.gathered.push(octets);
    if (isLast) this.end();
    return true;
  }

  /** The client gets what has come, or it is kept until the client takes it. */
  flush(): void {
    if (this.isOver || this.gathered.length === 0) return;
    const [first] = this.gathered;
    const octets = this.gathered.length === 1 ? first! : Buffer.concat(this.gathered);
    this.gathered = [];
    if (this.isPaused) this.keep(octets);
    else this.deliver(octets);
  }

  private keep(octets: Buffer): void {
    const last = this.received.at(-1);
    const joins = last !== undefined && last.length + octets.length <= KEPT_AS_ONE;
    if (joins) this.received[this.received.length - 1] = Buffer.concat([last, octets]);
    else this.received.push(Buffer.from(octets));
  }

  onReset(code: number): void {
    // After its whole response, an origin that wants no more of the body says so (RFC 9113 §8.1).
    if (this.hasEnded && code === CODE.none) return;
    const error = new Error(`the origin reset the stream with code ${code}`);
    const isUnseen = code === CODE.refusedStream && !this.hasHead;
    this.close(isUnseen ? Object.assign(error, { code: ORIGIN_CLOSED }) : error);
  }

  /** Ends the exchange; the origin is told with this code. */
  fail(error: Error, code: number): void {
    this.flush();
    if (this.isOver) return;
    this.link.reset(this.id, code);
    this.close(error);
  }

  /** Ends the exchange because the stream is no more. */
  close(error: Error): void {
    this.flush();
    if (this.isOver) return;
    this.finish();
    this.events.onError(error);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    if (!this.isPaused || this.isOver) return;
    this.isPaused = false;
    this.onProgress();
    while (!this.isPaused && !this.isOver) {
      const octets = this.received.shift();
      if (!octets) break;
      this.deliver(octets);
    }
    if (!this.isPaused && !this.isOver && this.hasEnded) this.complete();
  }

  abort(): void {
    if (this.isOver) return;
    this.link.reset(this.id, CODE.cancel);
    this.finish();
  }

  private deliver(octets: Buffer): void {
    this.giveBack(octets.length);
    this.events.onData(octets);
  }

  private giveBack(octets: number): void {
    this.credit += octets;
    if (this.hasEnded || this.credit < STREAM_WINDOW / 2) return;
    this.window += this.credit;
    this.link.widen(this.id, this.credit);
    this.credit = 0;
  }

  private end(): void {
    if (this.missing !== undefined && this.missing > 0)
      throw new MalformedResponse('less data than Content-Length says');
    this.flush();
    if (this.isOver) return;
    this.hasEnded = true;
    if (this.received.length === 0) this.complete();
  }

  private complete(): void {
    // Nobody needs the rest of the body.
    if (!this.isSent && this.body) this.link.reset(this.id, CODE.cancel);
    this.finish();
    this.events.onEnd(this.trailers);
  }

  private finish(): void {
    this.isOver = true;
    this.received = [];
    this.gathered = [];
    this.pending = undefined;
    this.body?.destroy();
    this.link.over(this);
  }
}
