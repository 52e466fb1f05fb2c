/** Plans the connection to an origin: checked addresses with ports, and the protocol to use. */

import { type Clock, steadyMs } from '../../base/clock.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import type { Egress } from '../../egress/egress.js';
import type { BucketRoute, OriginRoute } from '../../hostnames/routing/find-route.js';
import type { OriginPlace } from '../../hostnames/routing/origin.js';
import type { Resolver } from '../../resolver/resolve.js';
import { type Failure, failureOf, routeFailure } from '../error-pages/failures.js';
import type { ServedName, ServedNames } from '../route/served-names.js';

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

/** `bucket`: the origin is a name of the same account that shows one. */
export type Planned = { readonly plan: OriginPlan } | { readonly failure: Failure } | { readonly bucket: BucketRoute };

export interface OriginPlanner {
  /** A promise only if a name must be resolved. What it throws, or rejects with, is a fault of this program. */
  planFor(route: OriginRoute, scheme: 'http' | 'https'): Planned | Promise<Planned>;
  /** Undefined if a name must be resolved; this does not begin to. `nowMs`: steady milliseconds. */
  planNow(route: OriginRoute, scheme: 'http' | 'https', nowMs: number): Planned | undefined;
  /** Forgets resolved names. */
  forget(): void;
}

export interface PlannerOptions {
  readonly resolver: Resolver;
  /** Decides about each address that a plan connects to; names are not resolved again. */
  readonly egress: Egress;
  /** What this edge serves at a name: an origin that is such a name is not asked over the network. */
  readonly served: ServedNames;
  readonly clock: Clock;
}

/** The longest time that addresses of a name are used, milliseconds; a lower TTL shortens it. */
const LONGEST_USE_MS = 30_000;
const FAILURE_USE_MS = 2000;
/** How long a plan is used, milliseconds: what this installation listens on may change. */
const PLAN_USE_MS = 1000;
/** Of all accounts: who has most loses first. */
const MOST_NAMES = 10_000;
/** Names of this edge that lead to each other. */
const MOST_ALIASES = 8;
/** Only this many addresses of a name are used. */
const MOST_ENDPOINTS = 8;

interface Resolved {
  readonly addresses: readonly string[];
  /** To which the name leads. */
  readonly targets: readonly string[];
  readonly untilMs: number;
}

export function createOriginPlanner({ resolver, egress, served, clock }: PlannerOptions): OriginPlanner {
  const names = createKnownNames(resolver, clock);
  let plans = new WeakMap<OriginRoute, Map<string, KeptPlan>>();
  /** The one used last: requests in a row often lead to the same. */
  let last: LastPlan | undefined;

  async function resolveAll(route: OriginRoute): Promise<FoundPlaces> {
    let untilMs = Number.POSITIVE_INFINITY;
    let alias: ServedName | undefined;
    const found = await Promise.all(
      route.places.map(async (place) => {
        if (place.kind === 'address') return [place];
        alias ??= served(place.name, route.zone.account);
        if (alias) return [];
        const resolved = await names.resolve(place.name, route.zone.account);
        untilMs = Math.min(untilMs, resolved.untilMs);
        for (const name of resolved.targets) alias ??= served(name, route.zone.account);
        return resolved.addresses.map((address) => ({ address, port: place.port }));
      }),
    );
    return { found: found.flat(), untilMs, alias };
  }

  /** An origin that is a name of this edge is asked as that name's own route says, with the server name of the first. */
  async function plan(route: OriginRoute, scheme: 'http' | 'https', aliases: number): Promise<KeptPlan> {
    const { found, untilMs, alias } = await resolveAll(route);
    if (alias === undefined) return { planned: finish(egress, route, scheme, found), untilMs };
    if (alias === 'other') return { planned: { failure: failureOf('crossAccount') }, untilMs };
    if (alias.kind === 'bucket') return { planned: { bucket: alias }, untilMs };
    if (aliases === MOST_ALIASES) return { planned: { failure: routeFailure('origin_dns') }, untilMs };
    return plan({ ...alias, sni: route.sni }, scheme, aliases + 1);
  }

  function keep(route: OriginRoute, scheme: 'http' | 'https', planned: Planned, untilMs: number): Planned {
    last = undefined;
    const known = plans.get(route) ?? new Map<string, KeptPlan>();
    plans.set(route, known.set(scheme, { planned, untilMs: Math.min(untilMs, steadyMs(clock) + PLAN_USE_MS) }));
    return planned;
  }

  function planNow(route: OriginRoute, scheme: 'http' | 'https', nowMs: number): Planned | undefined {
    if (last?.route === route && last.scheme === scheme && nowMs < last.kept.untilMs) return last.kept.planned;
    const kept = plans.get(route)?.get(scheme);
    if (kept && nowMs < kept.untilMs) {
      last = { route, scheme, kept };
      return kept.planned;
    }
    if (!route.places.every(isAddress)) return undefined;
    return keep(route, scheme, finish(egress, route, scheme, route.places), Number.POSITIVE_INFINITY);
  }

  return {
    planNow,
    planFor(route, scheme) {
      const now = planNow(route, scheme, steadyMs(clock));
      if (now) return now;
      const before = plans;
      return plan(route, scheme, 0).then(({ planned, untilMs }) =>
        // What was found before everything was forgotten is used only once.
        before === plans ? keep(route, scheme, planned, untilMs) : planned,
      );
    },
    forget() {
      names.forget();
      plans = new WeakMap();
      last = undefined;
    },
  };
}

/** Addresses of resolved names, for as long as they are used. */
function createKnownNames(resolver: Resolver, clock: Clock) {
  const names = new FairCache<number, string, Resolved>(MOST_NAMES);
  return {
    async resolve(name: string, account: number): Promise<Resolved> {
      const nowMs = steadyMs(clock);
      // Answers from our own zones depend on the account.
      const key = `${account} ${name}`;
      const known = names.get(key);
      if (known && nowMs < known.untilMs) return known;
      const { addresses, targets, useMs } = await lookUp(resolver, name, account);
      const resolved = { addresses, targets, untilMs: nowMs + useMs };
      names.set(account, key, resolved);
      return resolved;
    },
    forget: () => names.clear(),
  };
}

/** The plan for addresses, if all of them may be connected to. */
function finish(egress: Egress, route: OriginRoute, scheme: 'http' | 'https', found: readonly FoundAddress[]): Planned {
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

/** The addresses of a name, and for how many milliseconds they may be used. */
async function lookUp(resolver: Resolver, name: string, account: number) {
  const answers = await Promise.all([
    resolver.resolve(name, 'A', { account, mayBeOld: true }),
    resolver.resolve(name, 'AAAA', { account, mayBeOld: true }),
  ]);
  const addresses = answers.flatMap(({ records }) => records.map(({ content }) => content));
  const ttlMs = Math.min(...answers.map(({ ttl }) => ttl * 1000), LONGEST_USE_MS);
  const targets = answers.flatMap(({ chain }) => chain.map(({ target }) => target));
  return { addresses, targets, useMs: addresses.length > 0 ? ttlMs : Math.min(ttlMs, FAILURE_USE_MS) };
}

/** The plan of a route and a scheme, which is the same for many requests. */
interface KeptPlan {
  readonly planned: Planned;
  readonly untilMs: number;
}

interface LastPlan {
  readonly route: OriginRoute;
  readonly scheme: 'http' | 'https';
  readonly kept: KeptPlan;
}

interface FoundPlaces {
  readonly found: readonly FoundAddress[];
  readonly alias: ServedName | undefined;
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
