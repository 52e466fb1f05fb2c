/** Keeps connections to origins open and shares them among requests of one zone to the same endpoint with the same settings. */
import { LRUCache } from 'lru-cache';
import { Client, Pool } from 'undici';
import type { Clock } from '../../base/clock.js';
import { createPlainOrigins } from '../http1/origins.js';
import { createHttp2Origins, type Http2Place } from '../http2/origins.js';
import { dispatch } from './dispatched.js';
import type { OriginControl, OriginEvents, OriginRequest } from './exchange.js';
import type { OriginEndpoint, OriginPlan } from './origin-plan.js';
import type { TrustedRoots } from './trusted-roots.js';

export interface OriginPools {
  /**
   * `zone`: store number of the zone whose request it is; no other zone uses its connections. `isFresh`: over a new connection,
   * closed after this request. Throws if the request holds what no request may.
   */
  send(
    zone: number,
    plan: OriginPlan,
    endpoint: OriginEndpoint,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl;
  close(): Promise<void>;
}

/** Milliseconds. */
export interface OriginTimes {
  /** Until a connection is open, its handshake included. */
  readonly connectMs: number;
  /** Until the head of the response, and between two parts of its body. */
  readonly waitMs: number;
}

const TIMES: OriginTimes = { connectMs: 15_000, waitMs: 100_000 };
const KEEP_ALIVE_MS = 15_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;

const MOST_POOLS = 2048;
const MOST_HEADER_OCTETS = 32_768;

export interface PoolOptions {
  readonly clock: Clock;
  /** For origins whose certificate is verified. */
  readonly trustedRoots: () => TrustedRoots;
  readonly times?: OriginTimes | undefined;
}

export function createOriginPools(options: PoolOptions): OriginPools {
  const pools = new LRUCache<string, Pool>({ max: MOST_POOLS, dispose: (pool) => void pool.close() });
  const { clock, times = TIMES } = options;
  const plain = createPlainOrigins({ clock, ...times, keepAliveMs: KEEP_ALIVE_MS });

  const shared = createHttp2Origins({ clock, ...times, keepAliveMs: KEEP_ALIVE_MS });

  /** Connections that were verified by other roots are not used any more. */
  const fullKeyOf = (zone: number, plan: OriginPlan, endpoint: OriginEndpoint): string =>
    `${zone} ${keyOf(plan, endpoint)} ${plan.verified ? options.trustedRoots().generation : ''}`;

  function poolFor(zone: number, plan: OriginPlan, endpoint: OriginEndpoint): Pool {
    const key = fullKeyOf(zone, plan, endpoint);
    let pool = pools.get(key);
    if (!pool) {
      pool = new Pool(urlOf(plan, endpoint), clientOptions(plan, options));
      pools.set(key, pool);
    }
    return pool;
  }

  /** Over HTTP/1.1 by a general client. */
  function general(
    zone: number,
    plan: OriginPlan,
    endpoint: OriginEndpoint,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl {
    const dispatcher = isFresh
      ? new Client(urlOf(plan, endpoint), clientOptions(plan, options))
      : poolFor(zone, plan, endpoint);
    return dispatch(dispatcher, request, isFresh, events);
  }

  function placeFor(zone: number, plan: OriginPlan, endpoint: OriginEndpoint): Http2Place {
    return { ...endpoint, key: fullKeyOf(zone, plan, endpoint), tls: tlsOf(plan, options) };
  }

  return {
    send(zone, plan, endpoint, request, isFresh, events) {
      if (isPlain(plan, request)) return plain.send({ zone, ...endpoint }, request, isFresh, events);
      if (plan.http2) {
        const overHttp1 = (): OriginControl => general(zone, plan, endpoint, request, isFresh, events);
        return shared.send(placeFor(zone, plan, endpoint), request, isFresh, events, overHttp1);
      }
      return general(zone, plan, endpoint, request, isFresh, events);
    },
    async close() {
      plain.close();
      shared.close();
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

function isPlain({ scheme }: OriginPlan, { method, body }: OriginRequest): boolean {
  return scheme === 'http' && body === undefined && (method === 'GET' || method === 'HEAD');
}

/** Without TLS, all hosts of a zone with the same origin share its connections: a pool takes 20 KB. */
function keyOf({ scheme, verified, sni }: OriginPlan, { address, port }: OriginEndpoint): string {
  const place = `${scheme} ${address} ${port}`;
  return scheme === 'https' ? `${place} ${verified} ${sni}` : place;
}

/** The URL contains the address, so no name is resolved again. */
function urlOf({ scheme }: OriginPlan, { address, port }: OriginEndpoint): string {
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function tlsOf({ verified, sni }: OriginPlan, { trustedRoots }: PoolOptions) {
  return { servername: sni, rejectUnauthorized: verified, ...(verified && { ca: trustedRoots().pem }) };
}

function clientOptions(plan: OriginPlan, options: PoolOptions): Client.Options {
  const { times = TIMES } = options;
  return {
    connect: { timeout: times.connectMs, ...(plan.scheme === 'https' && tlsOf(plan, options)) },
    headersTimeout: times.waitMs,
    bodyTimeout: times.waitMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
    maxHeaderSize: MOST_HEADER_OCTETS,
    pipelining: 1,
    // Node's client of HTTP/2 can be brought into a loop (http2/connection.ts).
    allowH2: false,
  };
}
