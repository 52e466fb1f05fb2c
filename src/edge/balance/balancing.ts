/**
 * Chooses an origin for each request to a load balancer, by the same functions as DNS does (steering/), and keeps clients at theirs.
 */
import type { FixedResponse } from '../../balancing/load-balancer.js';
import { fromHex } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { parsePeerAddress } from '../../base/ip.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Random } from '../../base/random.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { BalancedPool } from '../../serving/balanced.js';
import { createHealthSource, type HealthSource } from '../../serving/health-source.js';
import { createAsker, createChoice, Drop, type Judge, Outcome } from '../../steering/choice.js';
import { createDice } from '../../steering/dice.js';
import { codeOf, hashText, State, textOfCode } from '../../steering/layout.js';
import { chooseOrigin } from '../../steering/origins.js';
import { nextPool } from '../../steering/pools.js';
import { steer } from '../../steering/steer.js';
import { findPoolById } from '../../store/balancing/pools.js';
import type { Store } from '../../store/driver.js';
import type { Failure } from '../error-pages/failures.js';
import { routeFailure } from '../error-pages/failures.js';
import type { ChosenOrigin, EdgeRequest } from '../exchange/exchange.js';
import type { SessionExchange } from '../shared/sessions.js';
import { createBalanceCounts } from './counts.js';
import type { Examined } from './fields.js';
import { compileBalancer, type EdgeBalancer, type EdgeOrigin, type EdgePool, type SessionSteering } from './program.js';
import type { SessionKeys } from './session-token.js';
import { createSessions, type Sessions } from './sessions.js';
import { type BalanceStanding, createBalanceStanding } from './standing.js';

export interface BalancingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly sessionKeys: SessionKeys;
  /** With other processes that answer the same clients. */
  readonly sessions?: SessionExchange | undefined;
  /** Where this node is, and where others are; absent: nothing is known. */
  readonly whereabouts?: Whereabouts | undefined;
}

/** Where somebody is: codes as numbers (steering/layout.ts), and a direction; 0: not known. */
export interface Whereabout {
  readonly country: number;
  readonly region: number;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** Codes of this node's region and location; empty: not known. `find`: of an address of 4 or 16 octets. */
export interface Whereabouts {
  readonly region: string;
  readonly location: string;
  readonly find: (address: Uint8Array) => Whereabout | undefined;
}

/** What becomes of a request to a load balancer. */
export type Balanced =
  | { readonly fixed: FixedResponse }
  | { readonly failure: Failure }
  | { readonly request: EdgeRequest };

export interface Balancing {
  /** `headers`: those of the response, to which cookies are added as late as before it begins. */
  begin(request: EdgeRequest, route: BalancedRoute, headers: string[]): Balanced;
  /** Reads what became of the health of pools; returns whether there may be more. */
  readHealth(): boolean;
  /** Changes when there may be new health that is not stored. */
  healthVersion(): number;
  samples(): MetricSample[];
}

export type BalancedRoute = OriginRoute & { readonly balanced: NonNullable<OriginRoute['balanced']> };

/** Whether a load balancer chooses the origin. */
export function isBalanced(route: OriginRoute): route is BalancedRoute {
  return route.balanced !== undefined;
}

const NOWHERE: Whereabout = { country: 0, region: 0, x: 0, y: 0, z: 0 };

/** When the standing has more places than this, those of pools and origins that are gone are removed. */
const MOST_PLACES = 1 << 14;

/** Events read at once. */
const BATCH = 1000;

export function createBalancing(options: BalancingOptions): Balancing {
  const health = createHealthSource(options.store, options.whereabouts?.region);
  const chooser = new Chooser(options);
  const followed = new Map<number, BalancedPool>();
  let standing = createBalanceStanding();
  let compiled = new WeakMap<OriginRoute, EdgeBalancer>();
  let mostPlaces = MOST_PLACES;
  let read = health.last();
  /** Forgets what edits have left behind; load balancers are compiled again with their next request. */
  const renew = (): void => {
    const used = [...followed.values()].filter(({ seq }) => health.isUsed(seq));
    mostPlaces = Math.max(MOST_PLACES, 2 * used.reduce((sum, { pool }) => sum + 1 + pool.origins.length, 0));
    followed.clear();
    standing = createBalanceStanding();
    compiled = new WeakMap();
  };
  const balancerOf = (route: BalancedRoute): EdgeBalancer => {
    const known = compiled.get(route);
    if (known) return known;
    if (standing.size > mostPlaces) renew();
    const made = compileBalancer(route.balanced, route, standing);
    compiled.set(route, made);
    for (const pool of route.balanced.pools) {
      followed.set(pool.seq, pool);
      readPool(health, standing, pool);
    }
    return made;
  };
  return {
    begin: (request, route, headers) => chooser.begin(balancerOf(route), request, route, headers),
    readHealth() {
      const { last, pools, isMore } = health.after(read, BATCH);
      for (const seq of pools) {
        const pool = followed.get(seq);
        if (pool) readPool(health, standing, pool);
      }
      read = last;
      return isMore;
    },
    healthVersion: () => health.version(),
    samples: () => chooser.counts.samples((id) => findPoolById(options.store, fromHex(id)!) !== undefined),
  };
}

/** What is stored about a pool. */
function readPool(health: HealthSource, standing: BalanceStanding, { seq, pool }: BalancedPool): void {
  const { healthy, roundTripUs } = health.ofPool(seq);
  for (const { name } of pool.origins)
    standing.states[standing.slotOf(seq, name)] = healthy.has(name) ? State.up : State.down;
  standing.states[standing.slotOf(seq)] = roundTripUs;
}

function poolOf({ pools }: EdgeBalancer, one: EdgeOrigin): EdgePool {
  return pools.find(({ origins }) => origins.includes(one))!;
}

/** An origin that could not be connected to. */
interface Excluded {
  readonly one: EdgeOrigin;
  readonly acrossPools: boolean;
}

/** One choice is made after the other, so its objects are refilled. */
class Chooser {
  readonly counts = createBalanceCounts();
  private readonly choice = createChoice();
  private readonly asker = createAsker();
  private readonly dice;
  private readonly sessions: Sessions;
  private readonly judge: Judge;
  private conditions: EdgeBalancer['conditions'] = [];
  private examined: Examined | undefined;

  constructor(private readonly options: BalancingOptions) {
    const { clock, random, sessionKeys, sessions } = options;
    this.dice = createDice(random.bytes(16));
    this.sessions = createSessions(clock, sessionKeys, sessions);
    this.judge = { holds: (rule) => this.conditions[rule]!(this.examined!) };
  }

  begin(made: EdgeBalancer, request: EdgeRequest, route: BalancedRoute, headers: string[]): Balanced {
    const { id } = made.balancer;
    const { affinity, failoverAcrossPools: acrossPools } = this.sessionsOf(made, request);
    const asked = this.sessions.find({ id, account: route.balanced.row.account }, affinity, request);
    const fixed = this.steer(made, request, asked.token !== undefined);
    if (fixed) return { fixed };
    const own = asked.token === undefined ? undefined : made.byToken.get(asked.token);
    const stays = own !== undefined && this.mayStay(made, own, affinity.drainDuration);
    const one = stays ? own : this.pick(made, undefined);
    if (!one) {
      this.counts.countNone();
      return { failure: routeFailure('load_balancer') };
    }
    if (stays) this.counts.count(poolOf(made, one), 'session');
    else this.countPick(made, 'chosen');
    const others = headers.length;
    const settle = (chosen: EdgeOrigin): void => {
      // One that is kept for a moment only is not a new session.
      if (chosen === own || (own !== undefined && affinity.failover === 'temporary')) return;
      this.sessions.keep(asked, affinity, chosen.token);
      if (affinity.kind !== 'cookie' && affinity.kind !== 'ip_cookie') return;
      const isHttps = route.settings.always_use_https === 'on';
      headers.splice(
        others,
        headers.length,
        'set-cookie',
        this.sessions.cookieFor(id, affinity, chosen.token, isHttps),
      );
    };
    settle(one);
    if (stays) this.sessions.keep(asked, affinity, one.token);
    const retry = (): ChosenOrigin | undefined => {
      if (this.steer(made, request, asked.token !== undefined)) return undefined;
      const next = this.pick(made, { one, acrossPools });
      if (!next) return undefined;
      this.countPick(made, 'retry');
      settle(next);
      return this.chosen(made, next, () => undefined);
    };
    return { request: { ...request, headers: asked.headers, chosen: this.chosen(made, one, retry) } };
  }

  private chosen(
    { standing }: EdgeBalancer,
    { route, origin, slots }: EdgeOrigin,
    retry: () => ChosenOrigin | undefined,
  ): ChosenOrigin {
    const add = (count: number): void => {
      for (const slot of slots) standing.loads[slot]! += count;
    };
    return { route, authority: origin.host, retry, begin: () => add(1), end: () => add(-1) };
  }

  /** Rules may change the session settings. They are evaluated once more when it is known whether the request has a session. */
  private sessionsOf(made: EdgeBalancer, request: EdgeRequest): SessionSteering {
    if (!made.sessionsBy) return made.balancer;
    this.steer(made, request, false);
    return made.sessionsBy(this.choice.matched);
  }

  /** Finds the pools in question; returns what is answered instead. */
  private steer(made: EdgeBalancer, request: EdgeRequest, hasSession: boolean): FixedResponse | undefined {
    const { choice, asker } = this;
    asker.hash = hashText(request.client);
    asker.hasSession = hasSession;
    this.conditions = made.conditions;
    this.locate(made, request);
    const region = textOfCode(asker.region);
    const nowS = Math.floor(this.options.clock.nowMs() / 1000);
    this.examined = { balancer: made.balancer.name, region, nowS, request };
    const outcome = steer(choice, made.words, 0, made.standing, asker, this.judge, this.dice);
    if (outcome !== Outcome.fixed) return undefined;
    return choice.fixedRule >= 0 ? made.fixedOfRule(choice.fixedRule) : made.fixedOfSet(choice.fixedSet);
  }

  /** Where the client is, if the load balancer wants that and it is known; otherwise where this node is. */
  private locate({ balancer: { policy, locationStrategy } }: EdgeBalancer, { client }: EdgeRequest): void {
    const { asker } = this;
    const { region = '', location = '', find } = this.options.whereabouts ?? {};
    const { mode, preferEcs } = locationStrategy;
    const isWanted = mode === 'resolver_ip' || preferEcs === 'always' || preferEcs === policy;
    const address = isWanted && find ? parsePeerAddress(client) : undefined;
    const place = (address && find!(address)) ?? NOWHERE;
    asker.pop = codeOf(location);
    asker.country = place.country;
    asker.region = place.region || codeOf(region);
    [asker.x, asker.y, asker.z] = [place.x, place.y, place.z];
  }

  /** After {@link steer}: the best origin, without one that could not be connected to. */
  private pick(made: EdgeBalancer, excluded: Excluded | undefined): EdgeOrigin | undefined {
    const { choice, asker, dice } = this;
    const { standing } = made;
    for (
      let pool = nextPool(choice, standing, asker, dice);
      pool >= 0;
      pool = nextPool(choice, standing, asker, dice)
    ) {
      const { origins } = made.pools[pool]!;
      asker.without = excluded ? origins.indexOf(excluded.one) : -1;
      if (excluded && asker.without < 0 && !excluded.acrossPools) continue;
      const index = chooseOrigin(choice, standing, asker, dice);
      if (index >= 0) return origins[index];
    }
    return undefined;
  }

  /** Call after {@link pick} has found an origin. */
  private countPick(made: EdgeBalancer, way: 'chosen' | 'retry'): void {
    const { pool, isFallback } = this.choice;
    this.counts.count(made.pools[pool]!, way === 'chosen' && isFallback ? 'fallback' : way);
  }

  /** Whether a session keeps its origin: it is up, or it was disabled and is being drained. */
  private mayStay(made: EdgeBalancer, one: EdgeOrigin, drainDuration: number): boolean {
    const pool = poolOf(made, one);
    const index = made.pools.indexOf(pool);
    const { isEnabled, isMonitored } = pool;
    const { enabled, disabledAt } = one.origin;
    if (!enabled) {
      if (disabledAt === undefined) return false;
      // A clock that was put back does not prolong it.
      return Math.abs(this.options.clock.nowMs() - disabledAt / 1000) < drainDuration * 1000;
    }
    if (!isEnabled || this.choice.dropped[index] === Drop.shed) return false;
    return !isMonitored || made.standing.states[one.slots[1]] === State.up;
  }
}
