/** Keeps connections to origins open and shares them among requests of one zone to the same endpoint with the same settings. */
import type { Clock } from '../../base/clock.js';
import type { TrustedRoots } from '../../certs/trusted-roots.js';
import { DeferredControl } from '../exchange/deferred.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import type { OriginPlace, OriginTimes, PoolOwner } from '../exchange/origin-place.js';
import { framingOf } from '../http1/framing.js';
import type { ConnectionExchange } from '../http1/origin-connection.js';
import { createPlainOrigins } from '../http1/origins.js';
import { createHttp2Origins } from '../http2/origins.js';
import { type BodyBegin, whenBodyBegins } from './body-begin.js';
import { createGeneralPools } from './general-pools.js';
import { sendWithLaterBody } from './later-body.js';
import type { OriginEndpoint, OriginPlan } from './origin-plan.js';

export interface OriginPools {
  /** `isFresh`: over a new connection, closed after this request. Throws if the request holds what no request may. */
  send(
    owner: PoolOwner,
    plan: OriginPlan,
    endpoint: OriginEndpoint,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl;
  /** Likewise, over HTTP/1.1 without TLS, an exchange that is made already. `nowMs`: steady milliseconds. */
  begin(owner: PoolOwner, endpoint: OriginEndpoint, exchange: ConnectionExchange, nowMs: number): void;
  close(): Promise<void>;
}

const TIMES: OriginTimes = { connectMs: 15_000, waitMs: 100_000, keepAliveMs: 15_000 };

export interface PoolOptions {
  readonly clock: Clock;
  /** For origins whose certificate is verified. */
  readonly trustedRoots: () => TrustedRoots;
  readonly times?: Partial<OriginTimes> | undefined;
}

export function createOriginPools({ clock, trustedRoots, times: given }: PoolOptions): OriginPools {
  const times = { ...TIMES, ...given };
  const plain = createPlainOrigins({ clock, ...times });
  const shared = createHttp2Origins({ clock, ...times });
  const general = createGeneralPools(times);

  function placeFor(zone: number, { scheme, verified, sni }: OriginPlan, endpoint: OriginEndpoint): OriginPlace {
    const base = `${zone} ${scheme} ${endpoint.address} ${endpoint.port}`;
    // Without TLS, all hosts of a zone with the same origin share its connections: a pool takes 20 KB.
    if (scheme === 'http') return { ...endpoint, key: base, tls: undefined };
    if (!verified) {
      return { ...endpoint, key: `${base} ${sni}`, tls: { servername: sni, rejectUnauthorized: false } };
    }
    // Connections that were verified by other roots are not used any more.
    const { pem, generation } = trustedRoots();
    const tls = { servername: sni, rejectUnauthorized: true, ca: pem };
    return { ...endpoint, key: `${base} ${sni} ${generation}`, tls };
  }

  /** Over HTTP/1.1. */
  function sendWithBody(
    account: number,
    place: OriginPlace,
    request: OriginRequest,
    isFresh: boolean,
    events: OriginEvents,
  ): OriginControl {
    const { body, headers, more } = request;
    if (headers.includes('expect')) return sendWithLaterBody(place, request, { ...times, clock }, events);
    const control = new DeferredControl();
    const begin = (how: BodyBegin): OriginControl => {
      if (how === 'later') return sendWithLaterBody(place, request, { ...times, clock }, events);
      if (how === 'begun' || framingOf([...headers, ...more]) !== 'none')
        return general.send(account, place, request, isFresh, events);
      const empty = { ...request, more: [...more, 'content-length', '0'], body: undefined };
      return general.send(account, place, empty, isFresh, events);
    };
    const act = (how: BodyBegin): void => {
      if (control.isAborted) return;
      try {
        control.follow(begin(how));
      } catch (error) {
        events.onError(error as Error);
      }
    };
    whenBodyBegins(body!, clock, act, (error) => {
      if (!control.isAborted) events.onError(error);
    });
    return control;
  }

  return {
    send(owner, plan, endpoint, request, isFresh, events) {
      if (isPlain(plan, request)) return plain.send(owner, endpoint, request, isFresh, events);
      const place = placeFor(owner.zone, plan, endpoint);
      const overHttp1 = (): OriginControl => {
        const send = request.body ? sendWithBody : general.send;
        return send(owner.account, place, request, isFresh, events);
      };
      return plan.http2 ? shared.send(place, request, isFresh, events, overHttp1) : overHttp1();
    },
    begin: plain.begin.bind(plain),
    async close() {
      plain.close();
      shared.close();
      await general.close();
    },
  };
}

function isPlain({ scheme }: OriginPlan, { method, body }: OriginRequest): boolean {
  return scheme === 'http' && body === undefined && (method === 'GET' || method === 'HEAD');
}
