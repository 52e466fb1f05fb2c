/** A load balancer as the edge uses it: compiled for choosing, with a route to each of its origins. */
import { isIP } from 'node:net';
import {
  changesSessions,
  type FixedResponse,
  type LoadBalancer,
  overriddenSteering,
  type Steering,
  steeringWith,
} from '../../balancing/load-balancer.js';
import type { Origin } from '../../balancing/pool.js';
import { type Condition, compileExpression } from '../../expressions/compile.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { Balanced } from '../../serving/balanced.js';
import { compileProgram } from '../../steering/compile.js';
import { type Examined, REQUEST_FIELDS } from './fields.js';
import { originToken } from './session-token.js';
import type { BalanceStanding } from './standing.js';

export interface EdgeOrigin {
  readonly origin: Origin;
  /** Where requests go. */
  readonly route: OriginRoute;
  /** What a session cookie calls it. */
  readonly token: string;
  /** Places in the standing: of its pool, and its own. */
  readonly slots: readonly [pool: number, origin: number];
}

export interface EdgePool {
  readonly id: string;
  readonly name: string;
  readonly isEnabled: boolean;
  /** Whether health plays a part. */
  readonly isMonitored: boolean;
  readonly origins: readonly EdgeOrigin[];
}

export interface EdgeBalancer {
  readonly balancer: LoadBalancer;
  readonly words: Int32Array;
  /** Where the places of its pools and origins are. */
  readonly standing: BalanceStanding;
  readonly conditions: readonly Condition<Examined>[];
  /** As {@link compileProgram} numbers them. */
  readonly pools: readonly EdgePool[];
  readonly byToken: ReadonlyMap<string, EdgeOrigin>;
  /** The session settings after all rules that hold; undefined: no rule changes them. `matched`: 1 for each rule that holds. */
  readonly sessionsBy: ((matched: Uint8Array) => SessionSteering) | undefined;
  readonly fixedOfRule: (rule: number) => FixedResponse | undefined;
  readonly fixedOfSet: (set: number) => FixedResponse | undefined;
}

export type SessionSteering = Pick<Steering, 'affinity' | 'failoverAcrossPools'>;

const NEVER = (): boolean => false;

export function compileBalancer(balanced: Balanced, route: OriginRoute, standing: BalanceStanding): EdgeBalancer {
  const { balancer, pools } = balanced;
  // The first choice of a session by address is that of its address.
  const isHashed = balancer.affinity.kind === 'ip_cookie';
  const compiled = pools.map(({ seq, pool, monitored }) => ({
    ...{ id: pool.id, name: pool.name },
    isEnabled: pool.enabled,
    isMonitored: monitored,
    origins: pool.origins.map(
      (origin): EdgeOrigin => ({
        origin,
        route: routeTo(route, origin),
        token: originToken(pool.id, origin.name),
        slots: [standing.slotOf(seq), standing.slotOf(seq, origin.name)],
      }),
    ),
  }));
  const words = compileProgram({
    ...balancer,
    rules: balancer.rules.map((rule) => ({ ...rule, overrides: overriddenSteering(balanced.row, rule) })),
    pools: pools.map(({ seq, pool, monitored }) => ({
      ...pool,
      monitored,
      slot: standing.slotOf(seq),
      originPolicy: isHashed ? 'hash' : pool.originPolicy,
      origins: pool.origins.map((origin) => ({
        key: `${pool.id} ${origin.name}`,
        enabled: origin.enabled,
        weight: origin.weight,
        slot: standing.slotOf(seq, origin.name),
        hasIpv4: origin.ip?.length !== 16,
        hasIpv6: origin.ip?.length !== 4,
      })),
    })),
  });
  return {
    ...{ balancer, words, standing },
    conditions: balancer.rules.map(({ condition }) => {
      const made = compileExpression(condition, REQUEST_FIELDS);
      return made.ok ? made.holds : NEVER;
    }),
    pools: compiled,
    byToken: new Map(compiled.flatMap(({ origins }) => origins.map((one) => [one.token, one]))),
    sessionsBy: balancer.rules.some(changesSessions)
      ? (matched) =>
          steeringWith(
            balanced.row,
            balancer.rules.filter((_, i) => matched[i] === 1),
          )
      : undefined,
    fixedOfRule: (rule) => balancer.rules[rule]?.fixedResponse,
    fixedOfSet: (set) => balancer.poolSets[set]?.fixedResponse,
  };
}

/** An origin with a host of its own is asked for that, also in TLS. */
function routeTo(route: OriginRoute, { address, ip, port, host }: Origin): OriginRoute {
  const place = { port: port === 0 ? undefined : port };
  const named = host?.replace(/:\d+$/, '');
  return {
    ...route,
    places: [ip ? { ...place, kind: 'address', address } : { ...place, kind: 'name', name: address }],
    sni: named === undefined || isIP(named) !== 0 ? route.sni : named,
  };
}
