/**
 * Connections to origins over HTTP/1.1 without TLS, for requests without a body: a small client, because a general one takes
 * longer for a request than everything else that the edge does. Connections stay open and are used again, one request at a
 * time.
 */
import { connect, type Socket } from 'node:net';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../proxy/exchange.js';
import { ORIGIN_CLOSED, ORIGIN_CONNECT_TIMEOUT, ORIGIN_RESPONSE_TIMEOUT } from '../proxy/origin-failure.js';
import { printFieldLines } from './field-lines.js';
import { ResponseReader } from './response-reader.js';

export interface PlainOriginOptions {
  readonly clock: Clock;
  /** Milliseconds until a connection is open. */
  readonly connectMs: number;
  /** Milliseconds until the head of a response, and between two parts of its body. */
  readonly waitMs: number;
  /** How long a connection is kept without a request, milliseconds, unless the origin says less. */
  readonly keepAliveMs: number;
  /** Connections to one endpoint. */
  readonly mostConnections: number;
}

export interface PlainOrigins {
  /** `isFresh`: over a new connection, which is not used again. */
  send(address: string, port: number, request: OriginRequest, isFresh: boolean, events: OriginEvents): OriginControl;
  close(): void;
}

/** The connections to one endpoint. */
interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** The one used last is at the end. */
  readonly idle: OriginConnection[];
  readonly waiting: Exchange[];
  open: number;
}

/**
 * What a connection has received is read here, from one buffer for all of them: memory of its own for each piece would cost
 * more than reading it.
 */
const RECEIVED = Buffer.allocUnsafeSlow(65_536);

/** How often times are checked, milliseconds. */
const CHECK_MS = 500;
/** A connection is not used so shortly before the origin would close it, milliseconds. */
const KEEP_ALIVE_SLACK_MS = 1000;

/** Octets that would end the target early, and controls (RFC 9112 §3.2). */
const NO_TARGET = /^$|[^!-~\x80-\xff]/;

export function createPlainOrigins(options: PlainOriginOptions): PlainOrigins {
  const { clock, connectMs, waitMs, mostConnections } = options;
  const endpoints = new Map<string, Endpoint>();
  const connections = new Set<OriginConnection>();
  const cancel = clock.every(Math.min(CHECK_MS, connectMs, waitMs), () => {
    const nowMs = steadyMs(clock);
    for (const connection of connections) connection.checkTime(nowMs);
  });

  function endpointFor(address: string, port: number): Endpoint {
    const key = `${address} ${port}`;
    let endpoint = endpoints.get(key);
    if (!endpoint) endpoints.set(key, (endpoint = { address, port, idle: [], waiting: [], open: 0 }));
    return endpoint;
  }

  function open(endpoint: Endpoint, exchange: Exchange): void {
    endpoint.open += 1;
    const connection = new OriginConnection(endpoint, options, {
      onFree: () => free(endpoint, connection),
      onClosed: () => closed(endpoint, connection),
    });
    connections.add(connection);
    connection.begin(exchange);
  }

  function free(endpoint: Endpoint, connection: OriginConnection): void {
    const next = endpoint.waiting.shift();
    if (next) connection.begin(next);
    else endpoint.idle.push(connection);
  }

  function closed(endpoint: Endpoint, connection: OriginConnection): void {
    connections.delete(connection);
    endpoint.open -= 1;
    const at = endpoint.idle.indexOf(connection);
    if (at >= 0) endpoint.idle.splice(at, 1);
    const next = endpoint.waiting.shift();
    if (next) open(endpoint, next);
    else if (endpoint.open === 0) endpoints.delete(`${endpoint.address} ${endpoint.port}`);
  }

  return {
    send(address, port, request, isFresh, events) {
      const endpoint = endpointFor(address, port);
      const exchange = new Exchange(request, isFresh, events, endpoint.waiting);
      const connection = isFresh ? undefined : usableOf(endpoint.idle);
      if (connection) connection.begin(exchange);
      else if (isFresh || endpoint.open < mostConnections) open(endpoint, exchange);
      else endpoint.waiting.push(exchange);
      return exchange;
    },
    close() {
      cancel();
      for (const connection of connections) connection.destroy();
    },
  };
}

function usableOf(idle: OriginConnection[]): OriginConnection | undefined {
  let connection = idle.pop();
  while (connection?.socket.destroyed) connection = idle.pop();
  return connection;
}

/** One request and its response. */
class Exchange implements OriginControl {
  readonly reader: ResponseReader;
  readonly head: string;
  isPaused = false;
  connection: OriginConnection | undefined;

  /** Throws a TypeError if the request holds what no request may. `waiting`: where it may be until it has a connection. */
  constructor(
    { method, target, headers }: OriginRequest,
    readonly isFresh: boolean,
    readonly events: OriginEvents,
    private readonly waiting: Exchange[],
  ) {
    if (NO_TARGET.test(target)) throw new TypeError('the target holds what no target may');
    const connection = isFresh ? 'close' : 'keep-alive';
    this.head = `${method} ${target} HTTP/1.1\r\n${printFieldLines(headers)}connection: ${connection}\r\n\r\n`;
    this.reader = new ResponseReader(events, method === 'HEAD');
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.socket.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.connection?.resume();
  }

  abort(): void {
    const at = this.waiting.indexOf(this);
    if (at >= 0) this.waiting.splice(at, 1);
    this.connection?.drop(this);
  }
}

interface Owner {
  onFree(): void;
  onClosed(): void;
}

class OriginConnection {
  readonly socket: Socket;
  private exchange: Exchange | undefined;
  private isConnected = false;
  private sinceMs: number;
  private keepAliveMs: number;
  private error: Error | undefined;

  constructor(
    { address, port }: Endpoint,
    private readonly options: PlainOriginOptions,
    private readonly owner: Owner,
  ) {
    this.keepAliveMs = options.keepAliveMs;
    this.sinceMs = steadyMs(options.clock);
    const onread = { buffer: RECEIVED, callback: (length: number) => this.read(RECEIVED.subarray(0, length)) };
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

  begin(exchange: Exchange): void {
    this.exchange = exchange;
    exchange.connection = this;
    this.sinceMs = steadyMs(this.options.clock);
    this.socket.write(exchange.head, 'latin1');
  }

  resume(): void {
    this.sinceMs = steadyMs(this.options.clock);
    this.socket.resume();
  }

  /** Ends the exchange without telling it. */
  drop(exchange: Exchange): void {
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
    if (exchange) this.readFor(exchange, octets);
    // Nobody asked.
    else this.destroy();
    return true;
  }

  private readFor(exchange: Exchange, octets: Buffer): void {
    this.sinceMs = steadyMs(this.options.clock);
    try {
      exchange.reader.feed(octets);
    } catch (error) {
      this.error ??= error instanceof Error ? error : new Error(String(error));
      this.destroy();
      return;
    }
    if (exchange.reader.isDone && this.exchange === exchange) this.finish(exchange);
  }

  private finish(exchange: Exchange): void {
    const { reader, isFresh, events } = exchange;
    this.exchange = undefined;
    exchange.connection = undefined;
    if (!reader.isReusable || isFresh) this.destroy();
    else {
      const saidMs = (reader.keepAliveS ?? Number.POSITIVE_INFINITY) * 1000 - KEEP_ALIVE_SLACK_MS;
      this.keepAliveMs = Math.min(this.options.keepAliveMs, saidMs);
      if (exchange.isPaused) this.socket.resume();
      if (this.keepAliveMs <= 0) this.destroy();
      else this.owner.onFree();
    }
    events.onEnd(reader.trailers);
  }

  private closed(): void {
    const { exchange, error } = this;
    this.exchange = undefined;
    this.owner.onClosed();
    if (!exchange) return;
    exchange.connection = undefined;
    if (!error && exchange.reader.close()) exchange.events.onEnd(exchange.reader.trailers);
    else exchange.events.onError(error ?? Object.assign(new Error('other side closed'), { code: ORIGIN_CLOSED }));
  }
}
