/**
 * Connections to origins over HTTP/1.1 without TLS, for requests without a body: a small client, because a general one takes
 * longer for a request than everything else that the edge does. Connections stay open and are used again, one request at a
 * time, and only for the same zone. How many requests there are at once is bounded elsewhere (proxy/origin-places.ts).
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import type { PoolOwner } from '../exchange/origin-place.js';
import { type ConnectionExchange, exchangeFor, OriginConnection, type OriginTimeLimits } from './origin-connection.js';

export interface PlainOriginOptions extends OriginTimeLimits {
  readonly clock: Clock;
  /** Connections without a request, of all zones. */
  readonly mostIdle?: number;
}

export interface PlainEndpoint {
  readonly address: string;
  readonly port: number;
}

export interface PlainOrigins {
  /** `isFresh`: over a new connection, which is not used again. Throws if the request holds what no request may. */
  send(
    owner: PoolOwner,
    at: PlainEndpoint,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl;
  /** The same for an exchange that is made already. `nowMs`: steady milliseconds. */
  begin(owner: PoolOwner, at: PlainEndpoint, exchange: ConnectionExchange, nowMs: number): void;
  close(): void;
}

/** The connections of a zone to one address and port. */
interface Endpoint extends PlainEndpoint, PoolOwner {
  readonly key: string;
  /** The one used last is at the end. */
  readonly idle: OriginConnection[];
  open: number;
  /** Until then no connection is used again, because one of them told what nobody had asked for. */
  mistrustedUntilMs: number;
}

/** How often times are checked, milliseconds. */
const CHECK_MS = 500;
const MOST_IDLE = 2048;
const MISTRUST_MS = 60_000;

export function createPlainOrigins(options: PlainOriginOptions): PlainOrigins {
  return new ConnectionPool(options);
}

class ConnectionPool implements PlainOrigins {
  private readonly endpoints = new Map<string, Endpoint>();
  private readonly connections = new Set<OriginConnection>();
  private readonly rest = createRest();
  private readonly cancel: () => void;
  private idleCount = 0;
  /** The one asked for last: requests in a row are often for the same. */
  private last: Endpoint | undefined;

  constructor(private readonly options: PlainOriginOptions) {
    const { clock, connectMs, waitMs } = options;
    this.cancel = clock.every(Math.min(CHECK_MS, connectMs, waitMs), () => this.check());
  }

  send(
    owner: PoolOwner,
    at: PlainEndpoint,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl {
    const exchange = exchangeFor(request, isFresh, events);
    this.begin(owner, at, exchange, steadyMs(this.options.clock));
    return exchange;
  }

  begin(owner: PoolOwner, at: PlainEndpoint, exchange: ConnectionExchange, nowMs: number): void {
    const endpoint = this.endpointFor(owner, at);
    const connection = exchange.isFresh ? undefined : this.take(endpoint);
    if (connection) connection.begin(exchange, nowMs);
    else this.open(endpoint, exchange);
  }

  close(): void {
    this.cancel();
    for (const connection of this.connections) connection.destroy();
  }

  private endpointFor({ account, zone }: PoolOwner, { address, port }: PlainEndpoint): Endpoint {
    const { last } = this;
    if (last?.zone === zone && last.port === port && last.address === address) return last;
    const key = `${zone} ${address} ${port}`;
    let endpoint = this.endpoints.get(key);
    if (!endpoint) {
      endpoint = { key, account, zone, address, port, idle: [], open: 0, mistrustedUntilMs: 0 };
      this.endpoints.set(key, endpoint);
    }
    this.last = endpoint;
    return endpoint;
  }

  private open(endpoint: Endpoint, exchange: ConnectionExchange): void {
    endpoint.open += 1;
    const connection = new OriginConnection(endpoint, this.options, {
      onFree: (nowMs) => this.free(endpoint, connection, nowMs),
      onClosed: (unsent) => this.closed(endpoint, connection, unsent),
      onUnasked: () => (endpoint.mistrustedUntilMs = steadyMs(this.options.clock) + MISTRUST_MS),
    });
    this.connections.add(connection);
    connection.begin(exchange, steadyMs(this.options.clock));
  }

  private free(endpoint: Endpoint, connection: OriginConnection, nowMs: number): void {
    if (nowMs < endpoint.mistrustedUntilMs) {
      connection.destroy();
      return;
    }
    this.rest(connection);
    endpoint.idle.push(connection);
    this.idleCount++;
    if (this.idleCount > (this.options.mostIdle ?? MOST_IDLE)) closeIdle(this.endpoints.values());
  }

  private take({ idle }: Endpoint): OriginConnection | undefined {
    let found = -1;
    for (let at = idle.length - 1; at >= 0; at--) {
      const { isResting } = idle[at]!;
      if ((isResting && found >= 0) || idle[at]!.isOver) continue;
      found = at;
      // One that rests no longer is ready at once.
      if (!isResting) break;
    }
    if (found < 0) return undefined;
    this.idleCount--;
    return found === idle.length - 1 ? idle.pop() : idle.splice(found, 1)[0];
  }

  private closed(endpoint: Endpoint, connection: OriginConnection, unsent: ConnectionExchange | undefined): void {
    this.connections.delete(connection);
    endpoint.open -= 1;
    const at = endpoint.idle.indexOf(connection);
    if (at >= 0) {
      endpoint.idle.splice(at, 1);
      this.idleCount--;
    }
    if (unsent) this.open(endpoint, unsent);
  }

  private check(): void {
    const nowMs = steadyMs(this.options.clock);
    // It may be deleted.
    this.last = undefined;
    for (const connection of this.connections) connection.checkTime(nowMs);
    for (const { open, mistrustedUntilMs, key } of this.endpoints.values()) {
      if (open === 0 && mistrustedUntilMs <= nowMs) this.endpoints.delete(key);
    }
  }
}

/** Half of the connections of the account that keeps most. */
function closeIdle(endpoints: Iterable<Endpoint>): void {
  const byAccount = Map.groupBy(endpoints, ({ account }) => account);
  const countOf = (list: readonly Endpoint[]): number => list.reduce((sum, { idle }) => sum + idle.length, 0);
  const most = [...byAccount.values()].reduce((a, b) => (countOf(b) > countOf(a) ? b : a));
  const idle = most.flatMap((endpoint) => endpoint.idle);
  for (const connection of idle.slice(0, Math.ceil(idle.length / 2))) connection.destroy();
}

/**
 * Lets connections rest until the loop has read from all sockets once more: octets that follow a response and that nobody asked
 * for show themselves, or the end of the connection does.
 */
function createRest(): (connection: OriginConnection) => void {
  let fresh: OriginConnection[] = [];
  let resting: OriginConnection[] = [];
  let isPlanned = false;
  const look = (): void => {
    for (const connection of resting) connection.endRest();
    resting = fresh;
    fresh = [];
    isPlanned = resting.length > 0;
    // The loop reads from sockets between two calls.
    if (isPlanned) setImmediate(look);
  };
  return (connection) => {
    fresh.push(connection);
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(look);
  };
}
