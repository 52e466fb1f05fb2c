/** One connection to an origin over HTTP/1.1 without TLS, and the exchanges over it. */
import { connect, type Socket } from 'node:net';
import { type Clock, steadyMs } from '../../base/clock.js';
import { printFieldLines } from '../../plain/field-lines.js';
import { LONG_READ, ReadMemory } from '../../plain/shared-reads.js';
import { writeJoined } from '../../plain/write-joined.js';
import type { HeaderList, OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import { ORIGIN_CLOSED, ORIGIN_CONNECT_TIMEOUT, ORIGIN_RESPONSE_TIMEOUT } from '../exchange/origin-failure.js';
import { ResponseReader } from './response-reader.js';

export interface OriginTimeLimits {
  /** Milliseconds until a connection is open. */
  readonly connectMs: number;
  /** Milliseconds until the head of a response is complete, and between two parts of its body. */
  readonly waitMs: number;
  /** How long a connection is kept without a request, milliseconds, unless the origin says less. */
  readonly keepAliveMs: number;
}

/**
 * What a connection has received is read here, from one buffer for all of them: memory of its own for each piece would cost
 * more than reading it.
 */
export const RECEIVED = new ReadMemory(LONG_READ);

/** A connection is not used so shortly before the origin would close it, milliseconds. */
const KEEP_ALIVE_SLACK_MS = 1000;

/** Octets that would end the target early, and controls (RFC 9112 §3.2). */
const NO_TARGET = /^$|[^!-~\x80-\xff]/;

/** What reads a response, as its connection sees it. */
export interface Reader
  extends Pick<ResponseReader, 'isReusable' | 'hasMore' | 'keepAliveS' | 'trailers' | 'isDone' | 'hasHead' | 'close'> {
  /** As that of {@link ResponseReader}. `nowMs`: when the octets came, steady milliseconds. */
  feed(octets: Buffer, nowMs: number): void;
}

/** What is told of the end of an exchange. */
export interface ExchangeEvents {
  onEnd(trailers: HeaderList, nowMs: number): void;
  onError(error: Error): void;
}

/** One request and its response, as their connection sees them. */
export interface ConnectionExchange {
  readonly reader: Reader;
  readonly events: ExchangeEvents;
  /** The connection is closed after it. */
  readonly isFresh: boolean;
  readonly isPaused: boolean;
  /** Whether nobody waits for it any more. */
  readonly isUnwanted: boolean;
  connection: OriginConnection | undefined;
  writeTo(socket: Socket): void;
}

/** An exchange that can wait for whoever takes its response. */
export class PausableExchange {
  isPaused = false;
  connection: OriginConnection | undefined;

  pause(): void {
    this.isPaused = true;
    this.connection?.socket.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.connection?.resume();
  }
}

/** One request and its response. `head`: of the request; undefined: it was sent before. */
export class Exchange extends PausableExchange implements OriginControl, ConnectionExchange {
  readonly reader: ResponseReader;
  private isAborted = false;

  constructor(
    private readonly head: readonly string[] | undefined,
    isHead: boolean,
    readonly isFresh: boolean,
    readonly events: OriginEvents,
  ) {
    super();
    this.reader = new ResponseReader(events, isHead);
  }

  writeTo(socket: Socket): void {
    if (this.head) writeJoined(socket, this.head, undefined);
  }

  abort(): void {
    this.isAborted = true;
    this.connection?.drop(this);
  }

  get isUnwanted(): boolean {
    return this.isAborted;
  }
}

/** Throws a TypeError if the request holds what no request may. */
export function exchangeFor(
  { method, target, headers, more }: OriginRequest,
  isFresh: boolean,
  events: OriginEvents,
): Exchange {
  if (NO_TARGET.test(target)) throw new TypeError('the target holds what no target may');
  const rest = `${printFieldLines(more)}connection: ${isFresh ? 'close' : 'keep-alive'}\r\n\r\n`;
  const head = [`${method} ${target} HTTP/1.1\r\n`, printFieldLines(headers), rest];
  return new Exchange(head, method === 'HEAD', isFresh, events);
}

interface Owner {
  /** It may be used again, after a rest. */
  onFree(nowMs: number): void;
  /** `unsent`: a request of which nothing was sent, because the connection ended before. */
  onClosed(unsent: ConnectionExchange | undefined): void;
  /** The origin sent octets for which nobody had asked. */
  onUnasked(): void;
}

export class OriginConnection {
  readonly socket: Socket;
  /** After a response, until the loop has read from all sockets again: nothing is sent meanwhile. */
  isResting = false;
  private exchange: ConnectionExchange | undefined;
  private isConnected = false;
  private sinceMs: number;
  private keepAliveMs: number;
  private error: Error | undefined;

  constructor(
    { address, port }: { readonly address: string; readonly port: number },
    private readonly options: OriginTimeLimits & { readonly clock: Clock },
    private readonly owner: Owner,
  ) {
    this.keepAliveMs = options.keepAliveMs;
    this.sinceMs = steadyMs(options.clock);
    const onread = { buffer: RECEIVED.octets, callback: (length: number) => this.read(RECEIVED.first(length)) };
    const socket = connect({ host: address, port, noDelay: true, onread });
    this.socket = socket;
    socket.on('connect', () => {
      this.isConnected = true;
      this.sinceMs = steadyMs(options.clock);
    });
    socket.on('error', (error) => (this.error ??= error));
    socket.on('end', () => this.destroy());
    socket.on('close', () => this.closed());
  }

  get isOver(): boolean {
    return this.socket.destroyed;
  }

  begin(exchange: ConnectionExchange, nowMs: number): void {
    this.exchange = exchange;
    exchange.connection = this;
    this.sinceMs = nowMs;
    if (!this.isResting) exchange.writeTo(this.socket);
  }

  /** From now on, this connection serves another exchange, which continues the one before. */
  handOver(exchange: ConnectionExchange): void {
    this.exchange = exchange;
    exchange.connection = this;
  }

  endRest(): void {
    if (this.isOver) return;
    this.isResting = false;
    this.exchange?.writeTo(this.socket);
  }

  resume(): void {
    this.sinceMs = steadyMs(this.options.clock);
    this.socket.resume();
  }

  /** Ends the exchange without telling it. */
  drop(exchange: ConnectionExchange): void {
    if (this.exchange !== exchange) return;
    this.exchange = undefined;
    this.destroy();
  }

  destroy(): void {
    this.socket.destroy();
  }

  checkTime(nowMs: number): void {
    const { connectMs, waitMs } = this.options;
    const ms = nowMs - this.sinceMs;
    if (!this.isConnected) {
      if (ms >= connectMs) this.fail(ORIGIN_CONNECT_TIMEOUT, 'no connection in time');
    } else if (!this.exchange) {
      if (ms >= this.keepAliveMs) this.destroy();
    } else if (!this.exchange.isPaused && ms >= waitMs) this.fail(ORIGIN_RESPONSE_TIMEOUT, 'no response in time');
  }

  private fail(code: string, message: string): void {
    this.error ??= Object.assign(new Error(message), { code });
    this.destroy();
  }

  /** Returns true, which means that it takes more. */
  private read(octets: Buffer): boolean {
    const { exchange } = this;
    if (exchange && !this.isResting) this.readFor(exchange.reader, octets, steadyMs(this.options.clock));
    else if (!this.isOver) {
      this.owner.onUnasked();
      this.destroy();
    }
    return true;
  }

  private readFor(reader: Reader, octets: Buffer, nowMs: number): void {
    // Octets of a head that never ends, or responses before the response, are not one.
    if (reader.hasHead) this.sinceMs = nowMs;
    try {
      reader.feed(octets, nowMs);
    } catch (error) {
      this.error ??= error instanceof Error ? error : new Error(String(error));
      this.destroy();
      return;
    }
    // What arrived may have ended the exchange, or put another one in its place.
    const { exchange } = this;
    if (exchange?.reader.isDone) this.finish(exchange, nowMs);
  }

  private finish(exchange: ConnectionExchange, nowMs: number): void {
    const { reader, isFresh, events } = exchange;
    this.exchange = undefined;
    exchange.connection = undefined;
    if (reader.hasMore) this.owner.onUnasked();
    const saidMs = (reader.keepAliveS ?? Number.POSITIVE_INFINITY) * 1000 - KEEP_ALIVE_SLACK_MS;
    this.keepAliveMs = Math.min(this.options.keepAliveMs, saidMs);
    if (!reader.isReusable || isFresh || this.keepAliveMs <= 0) this.destroy();
    else {
      this.sinceMs = nowMs;
      this.isResting = true;
      if (exchange.isPaused) this.socket.resume();
      this.owner.onFree(nowMs);
    }
    events.onEnd(reader.trailers, nowMs);
  }

  private closed(): void {
    const { exchange, error } = this;
    this.exchange = undefined;
    const isUnsent = exchange !== undefined && this.isResting;
    this.owner.onClosed(isUnsent && !exchange.isUnwanted ? exchange : undefined);
    if (!exchange || isUnsent) return;
    exchange.connection = undefined;
    if (!error && exchange.reader.close())
      exchange.events.onEnd(exchange.reader.trailers, steadyMs(this.options.clock));
    else exchange.events.onError(error ?? Object.assign(new Error('other side closed'), { code: ORIGIN_CLOSED }));
  }
}
