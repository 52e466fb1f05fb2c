/** Connections to origins over HTTP/1.1 by undici, which knows TLS and bodies of requests. */

import { Client, Pool } from 'undici';
import { FairCache } from '../../base/lists/fair-cache.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import type { OriginPlace, OriginTimes } from '../exchange/origin-place.js';
import { dispatch } from './dispatched.js';

export interface GeneralPools {
  /**
   * `account`: store number. `isFresh`: over a new connection, closed after this request. Throws if the request holds what no request may.
   */
  send(
    account: number,
    place: OriginPlace,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl;
  close(): Promise<void>;
}

const LONGEST_KEEP_ALIVE_MS = 60_000;
/** Of all accounts: of the one that has most, connections end first. */
const MOST_POOLS = 2048;
export const MOST_HEADER_OCTETS = 32_768;

export function createGeneralPools(times: OriginTimes): GeneralPools {
  const pools = new FairCache<number, string, Pool>(MOST_POOLS, (pool) => void pool.close());

  function poolFor(account: number, place: OriginPlace): Pool {
    let pool = pools.get(place.key);
    if (!pool) pools.set(account, place.key, (pool = new Pool(urlOf(place), clientOptions(place, times))));
    return pool;
  }

  return {
    send(account, place, request, isFresh, events) {
      const dispatcher = isFresh ? new Client(urlOf(place), clientOptions(place, times)) : poolFor(account, place);
      return dispatch(dispatcher, request, isFresh, events);
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** The URL contains the address, so no name is resolved again. */
function urlOf({ tls, address, port }: OriginPlace): string {
  return `${tls ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function clientOptions({ tls }: OriginPlace, { connectMs, waitMs, keepAliveMs }: OriginTimes): Client.Options {
  return {
    connect: { timeout: connectMs, ...tls },
    headersTimeout: waitMs,
    bodyTimeout: waitMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
    maxHeaderSize: MOST_HEADER_OCTETS,
    pipelining: 1,
    // Node's client of HTTP/2 can be brought into a loop (http2/connection.ts).
    allowH2: false,
  };
}
