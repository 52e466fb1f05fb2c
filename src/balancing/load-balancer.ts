/** Load balancers: names for which pools and origins are chosen. */
import { toHex } from '../base/bytes.js';
import { type Members, memberOr, membersOf, parseMembers } from './members.js';
import type { StoredSettings } from './monitor.js';

/** The last one of them is a choice between two others: {@link steeringOf}. */
export const STEERING_POLICIES = [
  'off',
  'geo',
  'random',
  'dynamic_latency',
  'proximity',
  'least_outstanding_requests',
  'least_connections',
  '',
] as const;

export type SteeringPolicy = Exclude<(typeof STEERING_POLICIES)[number], ''>;

export const AFFINITIES = ['none', 'cookie', 'ip_cookie', 'header', ''] as const;

/** Identifiers of pools (32 hexadecimal digits) in the order of failover. */
export type PoolList = readonly string[];

/** Lists of pools by code: of a region, a country (two upper-case letters), or a point of presence. */
export type PoolMap = Readonly<Record<string, PoolList>>;

/** Weights of pools, 0 to 1. */
export interface PoolWeights {
  readonly defaultWeight: number;
  readonly poolWeights: Readonly<Record<string, number>>;
}

export interface LocationStrategy {
  readonly mode: 'pop' | 'resolver_ip';
  readonly preferEcs: 'always' | 'never' | 'proximity' | 'geo';
}

export interface FixedResponse {
  /** Default 200. */
  readonly statusCode: number;
  readonly contentType: string;
  readonly location: string;
  readonly messageBody: string;
}

export interface SessionAffinity {
  readonly kind: 'none' | 'cookie' | 'ip_cookie' | 'header';
  /** Seconds. */
  readonly ttl: number;
  readonly drainDuration: number;
  /** As written, such as `x-user`, `cookie` or `cookie:a,b`. */
  readonly headers: readonly string[];
  readonly requireAllHeaders: boolean;
  readonly sameSite: 'Auto' | 'Lax' | 'None' | 'Strict';
  readonly secure: 'Auto' | 'Always' | 'Never';
  readonly failover: 'none' | 'temporary' | 'sticky';
}

/** How is chosen: what a load balancer says, and what rules change of it. */
export interface Steering {
  readonly defaultPools: PoolList;
  readonly fallbackPool: string;
  readonly policy: SteeringPolicy;
  readonly regionPools: PoolMap;
  readonly countryPools: PoolMap;
  readonly popPools: PoolMap;
  readonly randomSteering: PoolWeights;
  readonly locationStrategy: LocationStrategy;
  readonly failoverAcrossPools: boolean;
  readonly affinity: SessionAffinity;
  /** Seconds; of answers that are not proxied. */
  readonly ttl: number;
}

export interface Rule {
  readonly name: string;
  /** Empty: always true. */
  readonly condition: string;
  readonly disabled: boolean;
  readonly priority: number;
  /** Whether no rule behind it counts once it matches. */
  readonly terminates: boolean;
  readonly fixedResponse: FixedResponse | undefined;
  /** {@link overriddenSteering} says what they set. */
  readonly overrides: Members;
}

/** In each list any value fits, and every list that is there must. */
export interface Topology {
  readonly pops: readonly string[];
  readonly countries: readonly string[];
  readonly regions: readonly string[];
}

export interface PoolSet {
  readonly name: string;
  readonly disabled: boolean;
  /** Undefined: it matches every request. */
  readonly topology: Topology | undefined;
  readonly fixedResponse: FixedResponse | undefined;
  /** Undefined: those that the load balancer would use. */
  readonly pools: PoolList | undefined;
  readonly fallbackPool: string | undefined;
  readonly policy: SteeringPolicy | undefined;
  readonly weights: PoolWeights | undefined;
}

/** Names of healthy origins by the identifiers of their pools, as they were some time ago; of pools that are probed. */
export type TransferView = Readonly<Record<string, readonly string[]>>;

/** A load balancer with all defaults. */
export interface LoadBalancer extends Steering {
  readonly id: string;
  /** Lower-case ASCII, without the final dot. */
  readonly name: string;
  readonly enabled: boolean;
  readonly proxied: boolean;
  /** By priority. */
  readonly rules: readonly Rule[];
  readonly poolSets: readonly PoolSet[];
  /** One address, or those of all healthy origins. */
  readonly answer: 'one' | 'all';
  /** The origins that transfers have, if they follow health. */
  readonly transferView: TransferView | undefined;
}

export const DEFAULT_TTL = 30;
/** Seconds: of sessions by cookie, and by header. */
const COOKIE_TTL = 82_800;
const HEADER_TTL = 1800;

export function loadBalancerOf({ id, settings }: StoredSettings): LoadBalancer {
  const members = parseMembers(settings);
  return {
    ...steeringOf(members),
    id: toHex(id),
    name: memberOr(members, 'name', ''),
    enabled: memberOr<boolean>(members, 'enabled', true),
    proxied: memberOr<boolean>(members, 'proxied', false),
    rules: memberOr<readonly Members[]>(members, 'rules', [])
      .map(ruleOf)
      .sort((a, b) => a.priority - b.priority),
    poolSets: memberOr<readonly Members[]>(members, 'pool_sets', []).map(poolSetOf),
    answer: memberOr<'one' | 'all'>(members, 'answer', 'one'),
    transferView: memberOr<TransferView | undefined>(members, 'transfer_view', undefined),
  };
}

/** The steering of a load balancer, with the overrides of these rules, one after the other, instead of its own members. */
export function steeringWith({ settings }: Pick<StoredSettings, 'settings'>, rules: readonly Rule[]): Steering {
  return steeringOf(Object.assign(parseMembers(settings), ...rules.map(({ overrides }) => overrides)));
}

/** Members that rules override, and the parts of the steering that follow from them. */
const OVERRIDDEN: Readonly<Record<string, readonly (keyof Steering)[]>> = {
  default_pools: ['defaultPools'],
  fallback_pool: ['fallbackPool'],
  steering_policy: ['policy'],
  // Without a policy of its own, maps decide about it.
  region_pools: ['regionPools', 'policy'],
  country_pools: ['countryPools', 'policy'],
  pop_pools: ['popPools', 'policy'],
  random_steering: ['randomSteering'],
  location_strategy: ['locationStrategy'],
  ttl: ['ttl'],
};

/** Members that rules override, and that say how a request is handled once its origin is known. */
const OF_SESSIONS = [
  'session_affinity',
  'session_affinity_ttl',
  'session_affinity_attributes',
  'adaptive_routing',
] as const;

/** Whether a rule changes the sessions of the requests for which it holds, or what is done when an origin cannot be connected to. */
export function changesSessions({ overrides }: Rule): boolean {
  return OF_SESSIONS.some((member) => member in overrides);
}

/** The parts of the steering of a load balancer that a rule sets. */
export function overriddenSteering(row: Pick<StoredSettings, 'settings'>, rule: Rule): Partial<Steering> {
  const steering = steeringWith(row, [rule]);
  const parts = Object.keys(rule.overrides).flatMap((member) => OVERRIDDEN[member] ?? []);
  return Object.fromEntries(parts.map((part) => [part, steering[part]]));
}

function steeringOf(members: Members): Steering {
  const maps = {
    regionPools: memberOr<PoolMap>(members, 'region_pools', {}),
    countryPools: memberOr<PoolMap>(members, 'country_pools', {}),
    popPools: memberOr<PoolMap>(members, 'pop_pools', {}),
  };
  const isMapped = Object.values(maps).some((map) => Object.keys(map).length > 0);
  const location = membersOf(members, 'location_strategy');
  return {
    ...maps,
    defaultPools: memberOr<PoolList>(members, 'default_pools', []),
    fallbackPool: memberOr(members, 'fallback_pool', ''),
    policy: memberOr<string>(members, 'steering_policy', '') === '' ? (isMapped ? 'geo' : 'off') : policyOf(members)!,
    randomSteering: weightsOf(membersOf(members, 'random_steering')),
    locationStrategy: {
      mode: memberOr<'pop' | 'resolver_ip'>(location, 'mode', 'pop'),
      preferEcs: memberOr<LocationStrategy['preferEcs']>(location, 'prefer_ecs', 'proximity'),
    },
    failoverAcrossPools: memberOr<boolean>(membersOf(members, 'adaptive_routing'), 'failover_across_pools', false),
    affinity: affinityOf(members),
    ttl: memberOr(members, 'ttl', DEFAULT_TTL),
  };
}

function policyOf(members: Members): SteeringPolicy | undefined {
  return memberOr<SteeringPolicy | ''>(members, 'steering_policy', '') || undefined;
}

function weightsOf(members: Members): PoolWeights {
  return { defaultWeight: memberOr(members, 'default_weight', 1), poolWeights: memberOr(members, 'pool_weights', {}) };
}

function affinityOf(members: Members): SessionAffinity {
  const kind = memberOr<SessionAffinity['kind'] | ''>(members, 'session_affinity', '') || 'none';
  const attributes = membersOf(members, 'session_affinity_attributes');
  return {
    kind,
    ttl: memberOr(members, 'session_affinity_ttl', 0) || (kind === 'header' ? HEADER_TTL : COOKIE_TTL),
    drainDuration: memberOr(attributes, 'drain_duration', 0),
    headers: memberOr(attributes, 'headers', []),
    requireAllHeaders: memberOr<boolean>(attributes, 'require_all_headers', false),
    sameSite: memberOr<SessionAffinity['sameSite']>(attributes, 'samesite', 'Auto'),
    secure: memberOr<SessionAffinity['secure']>(attributes, 'secure', 'Auto'),
    failover: memberOr<SessionAffinity['failover']>(attributes, 'zero_downtime_failover', 'none'),
  };
}

function ruleOf(members: Members): Rule {
  const fixedResponse = fixedResponseOf(members);
  return {
    name: memberOr(members, 'name', ''),
    condition: memberOr(members, 'condition', ''),
    disabled: memberOr<boolean>(members, 'disabled', false),
    priority: memberOr(members, 'priority', 0),
    terminates: fixedResponse !== undefined || memberOr<boolean>(members, 'terminates', false),
    fixedResponse,
    overrides: plainOverrides(membersOf(members, 'overrides')),
  };
}

/**
 * The overrides that are there. A flat list of pools takes the place of the whole topology, and weights beside it are those of random
 * steering (v4).
 */
function plainOverrides(members: Members): Members {
  const present = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  const { pools, pool_default_weight, pool_weights, ...others }: Members = Object.fromEntries(present);
  const hasWeights = pool_weights !== undefined || pool_default_weight !== undefined;
  return {
    ...others,
    ...(pools !== undefined && { default_pools: pools, region_pools: {}, country_pools: {}, pop_pools: {} }),
    ...(hasWeights && { random_steering: { default_weight: pool_default_weight, pool_weights } }),
  };
}

function fixedResponseOf(members: Members): FixedResponse | undefined {
  const fixed = memberOr<Members | undefined>(members, 'fixed_response', undefined);
  return (
    fixed && {
      statusCode: memberOr<number>(fixed, 'status_code', 0) || 200,
      contentType: memberOr(fixed, 'content_type', ''),
      location: memberOr(fixed, 'location', ''),
      messageBody: memberOr(fixed, 'message_body', ''),
    }
  );
}

function poolSetOf(members: Members): PoolSet {
  const overrides = membersOf(members, 'overrides');
  const topology = memberOr<Members | undefined>(membersOf(members, 'match'), 'topology', undefined);
  const hasWeights = overrides.pool_weights != null || overrides.pool_default_weight != null;
  const ofList = (name: string): readonly string[] => (topology ? memberOr(topology, name, []) : []);
  return {
    name: memberOr(members, 'name', ''),
    disabled: memberOr<boolean>(members, 'disabled', false),
    topology: topology && { pops: ofList('pops'), countries: ofList('countries'), regions: ofList('regions') },
    fixedResponse: fixedResponseOf(members),
    pools: memberOr<PoolList | undefined>(overrides, 'pools', undefined),
    fallbackPool: memberOr<string>(overrides, 'fallback_pool', '') || undefined,
    policy: policyOf(overrides),
    weights: hasWeights
      ? {
          defaultWeight: memberOr(overrides, 'pool_default_weight', 1),
          poolWeights: memberOr(overrides, 'pool_weights', {}),
        }
      : undefined,
  };
}
