/** Keeps connections to origins open and shares them among requests to the same endpoint with the same settings. */
import { LRUCache } from 'lru-cache';
import { Client, type Dispatcher, Pool } from 'undici';
import type { OriginEndpoint, OriginPlan } from './origin-plan.js';

export interface OriginPools {
  /** Shared: the caller must not close it. */
  poolFor(plan: OriginPlan, endpoint: OriginEndpoint): Dispatcher;
  /** A new private connection, closed after one request. */
  freshFor(plan: OriginPlan, endpoint: OriginEndpoint): Dispatcher;
  close(): Promise<void>;
}

/** Milliseconds. */
const CONNECT_TIMEOUT_MS = 15_000;
const FIRST_BYTE_TIMEOUT_MS = 100_000;
const IDLE_BODY_TIMEOUT_MS = 100_000;
const KEEP_ALIVE_MS = 15_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;

const MOST_POOLS = 4096;
/** Connections to one endpoint. */
const MOST_CONNECTIONS = 256;
const MOST_HEADER_OCTETS = 32_768;

export interface PoolOptions {
  /** PEM; root certificates for origins whose certificate is verified. */
  readonly trustedRoots: () => string[];
}

export function createOriginPools({ trustedRoots }: PoolOptions): OriginPools {
  const pools = new LRUCache<string, Pool>({ max: MOST_POOLS, dispose: (pool) => void pool.close() });
  return {
    poolFor(plan, endpoint) {
      const key = `${plan.scheme} ${endpoint.address} ${endpoint.port} ${plan.verified} ${plan.http2} ${plan.sni}`;
      let pool = pools.get(key);
      if (!pool) {
        pool = new Pool(urlOf(plan, endpoint), { ...clientOptions(plan, trustedRoots), connections: MOST_CONNECTIONS });
        pools.set(key, pool);
      }
      return pool;
    },
    freshFor: (plan, endpoint) => new Client(urlOf(plan, endpoint), clientOptions(plan, trustedRoots)),
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** The URL contains the address, so no name is resolved again. */
function urlOf({ scheme }: OriginPlan, { address, port }: OriginEndpoint): string {
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function clientOptions({ scheme, verified, sni, http2 }: OriginPlan, trustedRoots: () => string[]): Client.Options {
  const tls = { servername: sni, rejectUnauthorized: verified, ...(verified && { ca: trustedRoots() }) };
  return {
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(scheme === 'https' && tls) },
    headersTimeout: FIRST_BYTE_TIMEOUT_MS,
    bodyTimeout: IDLE_BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
    maxHeaderSize: MOST_HEADER_OCTETS,
    // Many HTTP/2 requests share a connection.
    pipelining: http2 ? 100 : 1,
    allowH2: http2,
  };
}
