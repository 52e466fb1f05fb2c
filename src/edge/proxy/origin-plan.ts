/** Plans the connection to an origin: checked addresses with ports, and the protocol to use. */

import { LRUCache } from 'lru-cache';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { Egress } from '../../egress/egress.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { OriginPlace } from '../../hostnames/routing/origin.js';
import type { Resolver } from '../../resolver/resolve.js';
import { type Failure, failureOf, routeFailure } from '../error-pages/failures.js';

export interface OriginEndpoint {
  readonly address: string;
  readonly port: number;
}

export interface OriginPlan {
  readonly scheme: 'http' | 'https';
  /** Whether the origin's certificate is verified. */
  readonly verified: boolean;
  readonly sni: string;
  /** HTTP/2 is offered and used if the origin supports it. */
  readonly http2: boolean;
  /** At least one. */
  readonly endpoints: readonly OriginEndpoint[];
}

export type Planned = { readonly plan: OriginPlan } | { readonly failure: Failure };

export interface OriginPlanner {
  /** A promise only if a name must be resolved. Never rejects. */
  planFor(route: OriginRoute, scheme: 'http' | 'https'): Planned | Promise<Planned>;
  /** Forgets resolved names. */
  forget(): void;
}

export interface PlannerOptions {
  readonly resolver: Resolver;
  /** Decides about each address that a plan connects to; names are not resolved again. */
  readonly egress: Egress;
  readonly clock: Clock;
}

/** The longest time that addresses of a name are used, milliseconds; a lower TTL shortens it. */
const LONGEST_USE_MS = 30_000;
const FAILURE_USE_MS = 2000;
/** How long a plan is used, milliseconds: what this installation listens on may change. */
const PLAN_USE_MS = 1000;
const MOST_NAMES = 10_000;
/** Only this many addresses of a name are used. */
const MOST_ENDPOINTS = 8;

interface Resolved {
  readonly addresses: readonly string[];
  readonly untilMs: number;
}

export function createOriginPlanner({ resolver, egress, clock }: PlannerOptions): OriginPlanner {
  const names = new LRUCache<string, Resolved>({ max: MOST_NAMES });
  let plans = new WeakMap<OriginRoute, Map<string, KeptPlan>>();

  function finish(route: OriginRoute, scheme: 'http' | 'https', found: readonly FoundAddress[]): Planned {
    if (found.length === 0) return { failure: routeFailure(route.isFallback ? 'fallback_origin' : 'origin_dns') };
    const spoken = originScheme(route, scheme);
    const endpoints = found.map(({ address, port }) => ({ address, port: port ?? (spoken === 'https' ? 443 : 80) }));
    for (const { address, port } of endpoints) {
      const refusal = egress.refusal('origins', address, port);
      if (refusal !== undefined) return { failure: failureOf('prohibitedOrigin', refusal) };
    }
    const verified = route.settings.ssl === 'strict';
    const http2 = spoken === 'https' && route.settings.origin_max_http_version === '2';
    return { plan: { scheme: spoken, verified, sni: route.sni, http2, endpoints: endpoints.slice(0, MOST_ENDPOINTS) } };
  }

  async function resolveAll(route: OriginRoute): Promise<FoundPlaces> {
    let untilMs = Number.POSITIVE_INFINITY;
    const found = await Promise.all(
      route.places.map(async (place) => {
        if (place.kind === 'address') return [place];
        const resolved = await resolve(place.name, route.zone.account);
        untilMs = Math.min(untilMs, resolved.untilMs);
        return resolved.addresses.map((address) => ({ address, port: place.port }));
      }),
    );
    return { found: found.flat(), untilMs };
  }

  async function resolve(name: string, account: number): Promise<Resolved> {
    const nowMs = steadyMs(clock);
    // What our own zones say depends on who asks.
    const key = `${account} ${name}`;
    const known = names.get(key);
    if (known && nowMs < known.untilMs) return known;
    const { addresses, useMs } = await lookUp(resolver, name, account);
    const resolved = { addresses, untilMs: nowMs + useMs };
    names.set(key, resolved);
    return resolved;
  }

  function keep(route: OriginRoute, scheme: 'http' | 'https', { found, untilMs }: FoundPlaces): Planned {
    const planned = finish(route, scheme, found);
    const known = plans.get(route) ?? new Map<string, KeptPlan>();
    plans.set(route, known.set(scheme, { planned, untilMs: Math.min(untilMs, steadyMs(clock) + PLAN_USE_MS) }));
    return planned;
  }

  return {
    planFor(route, scheme) {
      const kept = plans.get(route)?.get(scheme);
      if (kept && steadyMs(clock) < kept.untilMs) return kept.planned;
      if (route.places.every(isAddress)) {
        return keep(route, scheme, { found: route.places, untilMs: Number.POSITIVE_INFINITY });
      }
      const before = plans;
      return resolveAll(route).then((places) =>
        // What was found before everything was forgotten is used only once.
        before === plans ? keep(route, scheme, places) : finish(route, scheme, places.found),
      );
    },
    forget() {
      names.clear();
      plans = new WeakMap();
    },
  };
}

/** The addresses of a name, and for how many milliseconds they may be used. */
async function lookUp(resolver: Resolver, name: string, account: number) {
  const answers = await Promise.all([
    resolver.resolve(name, 'A', { account, mayBeOld: true }),
    resolver.resolve(name, 'AAAA', { account, mayBeOld: true }),
  ]);
  const addresses = answers.flatMap(({ records }) => records.map(({ content }) => content));
  const ttlMs = Math.min(...answers.map(({ ttl }) => ttl * 1000), LONGEST_USE_MS);
  return { addresses, useMs: addresses.length > 0 ? ttlMs : Math.min(ttlMs, FAILURE_USE_MS) };
}

/** The plan of a route and a scheme, which is the same for many requests. */
interface KeptPlan {
  readonly planned: Planned;
  readonly untilMs: number;
}

interface FoundPlaces {
  readonly found: readonly FoundAddress[];
  /** When to resolve again; infinite for addresses. Steady milliseconds. */
  readonly untilMs: number;
}

interface FoundAddress {
  readonly address: string;
  readonly port: number | undefined;
}

function isAddress(place: OriginPlace): place is Extract<OriginPlace, { kind: 'address' }> {
  return place.kind === 'address';
}

/** The zone setting `ssl`: with `full` and `strict`, the edge uses the client's scheme for the origin. */
function originScheme({ settings: { ssl } }: OriginRoute, scheme: 'http' | 'https'): 'http' | 'https' {
  return ssl === 'off' || ssl === 'flexible' ? 'http' : scheme;
}
