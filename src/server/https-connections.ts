/**
 * The connections of DNS over HTTPS after the TLS handshake. Limits their number, the time without a request, the
 * duration of a request, and the octets of requests and unread answers.
 *
 * Only whole requests count as activity: neither pings nor slowly sent header fields keep a connection open. At the
 * limit, the client that has most loses its longest idle connection.
 */
import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { type Clock, steadyMs } from '../base/clock.js';
import { clientNetwork } from '../base/ip.js';
import { hasShareFor } from '../base/turn-classes.js';
import { ofLargestClient } from './clients.js';
import { Count, type CountBlock } from './counters.js';
import { connectionName } from './handshakes.js';

export interface HttpsLimits {
  readonly connections: number;
  readonly connectionsPerClient: number;
  /** Requests that are not answered yet, of one client, which may have half of what the others leave, and of all. */
  readonly requestsPerClient: number;
  readonly requests: number;
  /** A connection of which more requests are refused is closed. */
  readonly refusals: number;
  /** A connection without requests is closed after this time, milliseconds. */
  readonly idleMs: number;
  /** The same while more than three quarters of the connections are in use. */
  readonly crowdedIdleMs: number;
  /** A request must be complete and its answer read within this time. */
  readonly requestMs: number;
  /** Limits on the octets of unfinished requests and unread answers, for one connection and for all. */
  readonly octetsPerConnection: number;
  readonly octets: number;
}

export const HTTPS_LIMITS: HttpsLimits = {
  connections: 1000,
  connectionsPerClient: 100,
  requestsPerClient: 1000,
  requests: 10_000,
  refusals: 100,
  idleMs: 30_000,
  crowdedIdleMs: 2_000,
  requestMs: 10_000,
  octetsPerConnection: 1 << 20,
  octets: 64 << 20,
};

/** Milliseconds that a session may stay after it was asked to close. */
const LINGER_MS = 2_000;
const SWEEP_MS = 500;
/** The cost of a chunk in addition to its octets. */
const PIECE_OVERHEAD = 128;

/** One request and its answer. */
export interface Exchange {
  /** Counts octets that are held for it; false when the limit is exceeded and the request was dropped. */
  hold(octets: number): boolean;
  /** Whether nobody waits for the answer any more. */
  isOver(): boolean;
}

interface Connection {
  readonly socket: Socket;
  /** See {@link clientNetwork}. */
  readonly client: string;
  session: ServerHttp2Session | undefined;
  readonly exchanges: Set<OpenExchange>;
  octets: number;
  refusals: number;
  /** End of the handshake or of the last request. */
  idleSinceMs: number;
  /** When it was asked to close; 0 when it was not. */
  closingSinceMs: number;
}

interface OpenExchange {
  readonly startedMs: number;
  octets: number;
  readonly abort: () => void;
}

export class HttpsConnections {
  /** By name. */
  private readonly all = new Map<string, Connection>();
  private octets = 0;
  private requests = 0;
  private readonly perClient = new Map<string, number>();
  /** Set while there are connections. */
  private stopSweep: (() => void) | undefined;

  constructor(
    private readonly counts: CountBlock,
    private readonly limits: HttpsLimits,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.all.size;
  }

  /** A connection after its handshake. */
  accept(socket: Socket): void {
    this.counts[Count.connectionAccepted]! += 1;
    const name = connectionName(socket);
    const client = clientNetwork(socket.remoteAddress ?? '');
    const ofClient = [...this.all.values()].filter((connection) => connection.client === client);
    if (ofClient.length >= this.limits.connectionsPerClient) this.evict(ofClient);
    if (this.all.size >= this.limits.connections)
      this.evict(ofLargestClient(this.all.values(), ({ client: of }) => of));
    this.stopSweep ??= this.clock.every(SWEEP_MS, () => this.sweep());
    this.all.set(name, {
      socket,
      client,
      session: undefined,
      exchanges: new Set(),
      octets: 0,
      refusals: 0,
      idleSinceMs: steadyMs(this.clock),
      closingSinceMs: 0,
    });
    socket.once('close', () => this.forget(name));
  }

  /** Whether the session uses HTTP/2. */
  acceptSession(session: ServerHttp2Session): void {
    const connection = this.all.get(connectionName(session.socket));
    if (connection) connection.session = session;
  }

  /** Undefined: its client has too many of them. */
  begin(request: Http2ServerRequest, response: Http2ServerResponse): Exchange | undefined {
    const connection = this.all.get(connectionName(request.socket));
    if (connection && !this.hasRoomFor(connection)) {
      this.noteRefusal(connection);
      return undefined;
    }
    const exchange: OpenExchange = {
      startedMs: steadyMs(this.clock),
      octets: 0,
      // HTTP/1.1 cannot end a single request.
      abort: () => void (response.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM) ?? request.socket.destroy()),
    };
    if (connection) this.add(connection, exchange);
    // A request over HTTP/2 that is reset does not show it in `destroyed`.
    let isOver = false;
    response.once('close', () => {
      isOver = true;
      if (connection) this.end(connection, exchange);
    });
    return {
      hold: (octets) => connection !== undefined && this.hold(connection, exchange, octets),
      isOver: () => isOver,
    };
  }

  /** Ends all connections. */
  close(): void {
    this.stopSweep?.();
    for (const { socket } of this.all.values()) socket.destroy();
  }

  private hold(connection: Connection, exchange: OpenExchange, octets: number): boolean {
    if (!connection.exchanges.has(exchange)) return false;
    exchange.octets += octets + PIECE_OVERHEAD;
    connection.octets += octets + PIECE_OVERHEAD;
    this.octets += octets + PIECE_OVERHEAD;
    if (connection.octets > this.limits.octetsPerConnection) {
      this.counts[Count.connectionEvicted]! += 1;
      this.end(connection, exchange);
      exchange.abort();
      return false;
    }
    if (this.octets > this.limits.octets) {
      const [largest] = [...this.all.values()].sort((a, b) => b.octets - a.octets);
      if (largest) this.drop(largest, Count.connectionEvicted);
    }
    return connection.exchanges.has(exchange);
  }

  private hasRoomFor({ client }: Connection): boolean {
    const { requestsPerClient: of, requests: inAll } = this.limits;
    return hasShareFor(this.perClient.get(client) ?? 0, this.requests, { of, inAll });
  }

  /** Whoever opens streams as fast as they are refused needs new handshakes, too. */
  private noteRefusal(connection: Connection): void {
    connection.refusals++;
    if (connection.refusals <= this.limits.refusals || connection.closingSinceMs > 0) return;
    if (!connection.session) {
      this.drop(connection, Count.connectionEvicted);
      return;
    }
    this.counts[Count.connectionEvicted]! += 1;
    // Streams that it opens from now on are ignored. The sweep closes it, when this has been sent.
    connection.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    connection.closingSinceMs = steadyMs(this.clock);
  }

  private add(connection: Connection, exchange: OpenExchange): void {
    connection.exchanges.add(exchange);
    this.requests++;
    this.perClient.set(connection.client, (this.perClient.get(connection.client) ?? 0) + 1);
  }

  private end(connection: Connection, exchange: OpenExchange): void {
    if (!connection.exchanges.delete(exchange)) return;
    this.requests--;
    const left = this.perClient.get(connection.client)! - 1;
    if (left > 0) this.perClient.set(connection.client, left);
    else this.perClient.delete(connection.client);
    connection.octets -= exchange.octets;
    this.octets -= exchange.octets;
    connection.idleSinceMs = steadyMs(this.clock);
  }

  private forget(name: string): void {
    const connection = this.all.get(name);
    if (!connection) return;
    for (const exchange of connection.exchanges) this.end(connection, exchange);
    this.all.delete(name);
    if (this.all.size > 0) return;
    this.stopSweep?.();
    this.stopSweep = undefined;
  }

  /** Closes the longest idle of these connections; a busy one only if all are busy. */
  private evict(among: readonly Connection[]): void {
    const goesBefore = (a: Connection, b: Connection): boolean => {
      const [isIdle, otherIsIdle] = [a.exchanges.size === 0, b.exchanges.size === 0];
      return isIdle === otherIsIdle ? a.idleSinceMs < b.idleSinceMs : isIdle;
    };
    let chosen = among[0];
    for (const connection of among) if (chosen && goesBefore(connection, chosen)) chosen = connection;
    if (chosen) this.drop(chosen, Count.connectionEvicted);
  }

  private drop(connection: Connection, count: number): void {
    this.counts[count]! += 1;
    const name = connectionName(connection.socket);
    connection.socket.destroy();
    this.forget(name);
  }

  private sweep(): void {
    const { limits, all } = this;
    const nowMs = steadyMs(this.clock);
    const idleMs = all.size > limits.connections * 0.75 ? limits.crowdedIdleMs : limits.idleMs;
    for (const connection of all.values()) {
      for (const exchange of connection.exchanges) {
        if (nowMs - exchange.startedMs < limits.requestMs) continue;
        this.counts[Count.connectionTimedOut]! += 1;
        this.end(connection, exchange);
        exchange.abort();
      }
      if (connection.closingSinceMs > 0 && nowMs - connection.closingSinceMs >= LINGER_MS) {
        this.drop(connection, Count.connectionTimedOut);
      } else if (connection.closingSinceMs === 0 && connection.exchanges.size === 0) {
        if (nowMs - connection.idleSinceMs >= idleMs) this.letGo(connection, nowMs);
      }
    }
  }

  /** A session is asked first, so that its client loses no request. */
  private letGo(connection: Connection, nowMs: number): void {
    if (!connection.session) {
      this.drop(connection, Count.connectionTimedOut);
      return;
    }
    connection.closingSinceMs = nowMs;
    connection.session.close();
  }
}
