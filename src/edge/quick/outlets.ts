/** How the short way writes a response that it passes on: over HTTP/1.1, or in a stream of HTTP/2. */
import type { Channel, Sending } from '../../plain/connections.js';
import { type LateWrite, writeAtEndOfTurn } from '../../plain/late-writes.js';
import { hasTaken, type Taken } from '../../plain/write-joined.js';
import type { ClientResponse } from '../exchange/client-response.js';
import type { Taker } from '../exchange/stalls.js';
import { RECEIVED } from '../http1/origin-connection.js';
import { PlainResponse } from '../http1/response.js';
import type { ClientStream } from '../http2/client-stream.js';
import { composed, responseHead } from './response-head.js';

/** A copy of more octets takes longer than what else is done for them. */
const LONG = 16_384;

/** Octets are those of [start, end), which may be overwritten afterwards. `isLast`: the body ends with them. */
export interface Outlet {
  /** What takes it. */
  readonly taker: Taker;
  /** Sends the head that was read last, with octets of the body. Returns whether the client takes more. */
  begin(ray: string, octets: Buffer, start: number, end: number, isLast: boolean): boolean;
  /** Likewise, further octets. */
  send(octets: Buffer, start: number, end: number, isLast: boolean): boolean;
  /** A piece that is kept as it is. */
  write(chunk: Buffer): boolean;
  /** Nothing follows. Returns whether the client has taken everything; `late`: that is told at the end of the turn. */
  finish(): boolean | 'late';
  /** The client has everything. */
  close(): void;
  /** Ends what cannot be completed, so that the client notices. */
  cut(): void;
  /** What the general way goes on with. */
  general(): ClientResponse;
}

/** What is told of the client. */
export interface OutletEvents {
  /** It can take more. */
  drained(): void;
  /** Everything was written late. `isTaken`: and the client has it. */
  written(isTaken: boolean): void;
  /** A bug ends the exchange. */
  onFault(error: unknown): void;
  /** It has everything, or is gone. */
  end(isSent: boolean): void;
}

/** For one response after another, until the general way goes on with one. */
export class PlainOutlet implements Outlet, Sending, LateWrite {
  /** To be set at once. */
  events: OutletEvents | undefined;
  /** What answers the client since the general way goes on. */
  private response: PlainResponse | undefined;
  /** A whole response, which is written at the end of the turn: where it stands in a buffer that was taken. */
  private late: Taken | undefined;
  private from = 0;
  private to = 0;
  /** The connection ends after it. */
  private isLast = false;

  constructor(private readonly channel: Channel) {}

  /** After the response before, if there was one, was written. */
  beginResponse(isLast: boolean): void {
    this.isLast = isLast;
  }

  drained(): void {
    if (this.response) this.response.drained();
    // Otherwise what came before has left only now.
    else if (!this.late) this.events!.drained();
  }

  closed(): void {
    if (this.response) this.response.closed();
    else this.events!.end(false);
  }

  get taker(): Taker {
    return this.channel.socket;
  }

  begin(ray: string, octets: Buffer, start: number, end: number, isLast: boolean): boolean {
    responseHead.print(ray, this.channel, this.isLast);
    const joined = end - start > LONG ? RECEIVED.putBefore(octets, start, end, responseHead.octets) : undefined;
    if (joined) return composed.writeCopy(this.channel.socket, joined);
    octets.copy(composed.octets, responseHead.to, start, end);
    this.from = responseHead.from;
    this.to = responseHead.to + end - start;
    // Further requests are answered in the same turn.
    if (isLast && !this.channel.hasMore) this.late = composed.take();
    return this.late !== undefined || composed.writeTo(this.channel.socket, this.from, this.to);
  }

  send(octets: Buffer, start: number, end: number): boolean {
    return composed.writeCopy(this.channel.socket, octets.subarray(start, end));
  }

  onFault(error: unknown): void {
    this.events!.onFault(error);
  }

  write(chunk: Buffer): boolean {
    this.channel.socket.write(chunk);
    return hasTaken(this.channel.socket);
  }

  finish(): boolean | 'late' {
    if (!this.late) return hasTaken(this.channel.socket);
    writeAtEndOfTurn(this);
    return 'late';
  }

  writeLate(): void {
    const { late } = this;
    const { socket } = this.channel;
    this.late = undefined;
    if (!late) return;
    if (socket.destroyed) composed.giveBack(late);
    else {
      this.events!.written(composed.writeTaken(socket, late, this.from, this.to));
    }
  }

  close(): void {
    this.channel.onWritten(this.isLast);
  }

  cut(): void {
    this.channel.socket.destroy();
  }

  general(): ClientResponse {
    this.response = new PlainResponse(this.channel, 'GET', this.isLast);
    return this.response;
  }
}

export class StreamOutlet implements Outlet {
  constructor(private readonly stream: ClientStream) {}

  get taker(): Taker {
    return this.stream;
  }

  begin(ray: string, octets: Buffer, start: number, end: number, isLast: boolean): boolean {
    this.stream.sendHead(responseHead.head.status, responseHead.block(ray, this.stream.nowMs()));
    return this.send(octets, start, end, isLast);
  }

  send(octets: Buffer, start: number, end: number, isLast: boolean): boolean {
    return this.stream.pass(octets.subarray(start, end), isLast);
  }

  write(chunk: Buffer): boolean {
    return this.stream.write(chunk);
  }

  finish(): boolean {
    this.stream.end(undefined, []);
    return this.stream.isOver;
  }

  close(): void {}

  cut(): void {
    this.stream.cut();
  }

  general(): ClientResponse {
    return this.stream;
  }
}
