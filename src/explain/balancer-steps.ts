/** Describes the choice of the engine in words. */
import { type Balance, PlacedBy } from '../answer/balance/choose.js';
import { type LoadBalancer, loadBalancerOf } from '../balancing/load-balancer.js';
import type { StoredSettings } from '../balancing/monitor.js';
import type { Origin } from '../balancing/pool.js';
import type { Balanced } from '../serving/balanced.js';
import { type Choice, Drop, poolAt } from '../steering/choice.js';
import { Head, HeadFlag, OriginPolicy, Policy, PoolWord, SteeringWord, textOfCode } from '../steering/layout.js';
import { isEligible } from '../steering/origins.js';

export interface PoolVerdict {
  readonly id: string;
  readonly name: string;
  readonly verdict:
    | 'chosen'
    | 'fallback'
    | 'candidate'
    | 'disabled'
    | 'critical'
    | 'no origin takes traffic'
    | 'shed'
    | 'not considered';
}

export interface OriginVerdict {
  readonly name: string;
  readonly address: string;
  readonly weight: number;
  /** `another family`: its address is not of the family that the question asks for. */
  readonly verdict: 'chosen' | 'candidate' | 'unhealthy' | 'disabled' | 'no weight' | 'another family';
}

export interface ChoiceTold {
  readonly policy: string;
  /** Sentences for people, in the order of the decisions. */
  readonly steps: readonly string[];
  /** The pools to choose from, in order, then all others. */
  readonly pools: readonly PoolVerdict[];
  /** The origins of the chosen pool; empty if the reader may not read pools. */
  readonly origins: readonly OriginVerdict[];
}

const POLICY_NAMES = [
  ...['off', 'geo', 'random', 'dynamic_latency', 'proximity', 'least_outstanding_requests', 'least_connections'],
];

/** For a load balancer that chooses nothing in DNS. */
export function passedBy(row: StoredSettings): ChoiceTold {
  const { enabled, policy }: LoadBalancer = loadBalancerOf(row);
  const step = enabled
    ? 'The load balancer is proxied: the name answers with the addresses of the edge, which chooses for each request.'
    : 'The load balancer is disabled: its name answers with its other records.';
  return { policy, steps: [step], pools: [], origins: [] };
}

const VERDICTS: Readonly<Record<number, PoolVerdict['verdict']>> = {
  [Drop.no]: 'candidate',
  [Drop.disabled]: 'disabled',
  [Drop.critical]: 'critical',
  [Drop.empty]: 'no origin takes traffic',
  [Drop.shed]: 'shed',
};

/** `readsPools`: whether the reader may see the origins of pools. */
export function toldOf(balance: Balance, { balancer, pools }: Balanced, readsPools: boolean): ChoiceTold {
  const { choice } = balance;
  const nameOf = (index: number): string => pools[index]!.pool.name;
  const isFixed = choice.fixedSet >= 0 || choice.fixedRule >= 0;
  const listed = isFixed
    ? []
    : Array.from(choice.words.subarray(choice.list + 1, choice.list + 1 + choice.words[choice.list]!));
  const verdictOf = (index: number): PoolVerdict['verdict'] => {
    if (index === choice.pool && !isFixed) return choice.isFallback ? 'fallback' : 'chosen';
    return listed.includes(index) ? VERDICTS[choice.dropped[index]!]! : 'not considered';
  };
  const order = [...listed, ...pools.keys()].filter((index, i, all) => all.indexOf(index) === i);
  const origins = isFixed || choice.pool < 0 ? [] : originsOf(balance, pools[choice.pool]!.pool.origins);
  const steps = [...placeSteps(balance), ...changeSteps(choice, balancer)];
  if (isFixed) steps.push('The load balancer has a fixed response: the answer has no records.');
  else {
    const because = reasonOfList(balance);
    steps.push(`The pools to choose from${because}, in order: ${listed.map(nameOf).join(', ') || 'none'}.`);
    for (const index of listed) {
      const drop = choice.dropped[index]!;
      if (drop !== Drop.no) steps.push(`Pool ${nameOf(index)}: ${VERDICTS[drop]}.`);
    }
    if (choice.pool < 0) steps.push('No pool is left, and the fallback pool is disabled: there is not an address.');
    else {
      const pool = nameOf(choice.pool);
      steps.push(
        choice.isFallback
          ? `No pool is left: the fallback pool ${pool} is used, whatever its health.`
          : `Pool ${pool} is chosen: ${reasonOfPool(balance)}.`,
      );
      if (readsPools) steps.push(originStep(balance, balancer, origins));
    }
    if (balance.origin < 0 && balance.count > 0) {
      steps.push('The signed zone proves that the name has this type, so any of its addresses is answered instead.');
    }
  }
  return {
    policy: POLICY_NAMES[choice.steering[SteeringWord.policy]!]!,
    steps,
    pools: order.map((index) => ({ id: pools[index]!.pool.id, name: nameOf(index), verdict: verdictOf(index) })),
    origins: readsPools ? origins : [],
  };
}

/** Where the asker is, if the load balancer can depend on it. */
function placeSteps({ asker, choice, placedBy }: Balance): string[] {
  if ((choice.words[choice.at + Head.flags]! & HeadFlag.placed) === 0) return [];
  const [country, region, pop] = [asker.country, asker.region, asker.pop].map(textOfCode);
  const place = [country, region].filter((text) => text !== '').join(', ') || 'an unknown country';
  if (placedBy === PlacedBy.subnet) return [`The asker is in ${place}, according to its client subnet.`];
  if (placedBy === PlacedBy.address) return [`The asker is in ${place}, according to its address.`];
  const server = [pop, region].filter((text) => text !== '').join(', ');
  return [
    server === ''
      ? 'The locations of the asker and of this server are not known.'
      : `The asker is taken to be where this server is: ${server}.`,
  ];
}

function changeSteps(choice: Choice, { poolSets, rules }: LoadBalancer): string[] {
  const steps: string[] = [];
  if (choice.set >= 0) steps.push(`Pool set ${nameOr(poolSets[choice.set]!.name, choice.set)} matches.`);
  for (const [index, { name }] of rules.entries()) {
    if (choice.matched[index] === 1) steps.push(`Rule ${nameOr(name, index)} holds.`);
  }
  return steps;
}

function nameOr(name: string, index: number): string {
  return name === '' ? String(index + 1) : name;
}

/** Which list geo steering chose. */
function reasonOfList({ choice, asker }: Balance): string {
  const { words, at, steering, list } = choice;
  if (steering[SteeringWord.policy] !== Policy.geo) return '';
  if (list === at + steering[SteeringWord.pools]!) return ' are the default pools';
  const maps = [
    [SteeringWord.pops, asker.pop, 'location code'],
    [SteeringWord.countries, asker.country, 'country'],
    [SteeringWord.regions, asker.region, 'region'],
  ] as const;
  for (const [word, code, what] of maps) {
    const map = steering[word]!;
    const count = map === 0 ? 0 : words[at + map]!;
    for (let i = 0; i < count; i++) {
      const entry = at + map + 1 + i * 2;
      if (words[entry] === code && at + words[entry + 1]! === list)
        return ` are those of the ${what} ${textOfCode(code)}`;
    }
  }
  return '';
}

const EARTH_KM = 6371;

function reasonOfPool({ choice, asker, standing }: Balance): string {
  const { words } = choice;
  const pool = poolAt(choice, choice.pool);
  const others = choice.count > 1;
  switch (choice.steering[SteeringWord.policy]) {
    case Policy.random:
      return others ? 'at random, by weight' : 'it is the only one left';
    case Policy.requests:
    case Policy.connections:
      return others ? 'at random, by weight, because DNS does not see requests' : 'it is the only one left';
    case Policy.latency: {
      const us = standing.states[words[pool + PoolWord.slot]!]!;
      return us > 0
        ? `its round-trip time is the shortest, ${(us / 1000).toFixed(1)} ms`
        : 'no round-trip time is known, so it is the first of them';
    }
    case Policy.proximity: {
      const [from, to] = [
        [asker.x, asker.y, asker.z],
        [words[pool + PoolWord.x]!, words[pool + PoolWord.y]!, words[pool + PoolWord.z]!],
      ] as const;
      if (from.every((part) => part === 0)) return 'the location of the asker is not known, so it is the first of them';
      if (to.every((part) => part === 0)) return 'no pool has a location, so it is the first of them';
      return `it is the nearest, ${kilometres(from, to)} km from the asker`;
    }
    default:
      return 'it is the first of them that takes traffic';
  }
}

/** The distance between two points, given as directions from the centre of the earth. */
function kilometres(a: readonly number[], b: readonly number[]): number {
  const length = (vector: readonly number[]): number => Math.hypot(...vector);
  const dot = a.reduce((sum, part, i) => sum + part * b[i]!, 0);
  return Math.round(EARTH_KM * Math.acos(Math.min(1, Math.max(-1, dot / (length(a) * length(b))))));
}

/** The verdicts on the origins of the chosen pool, by the rule that the engine applied. */
function originsOf({ choice, asker, standing, origin: chosen }: Balance, origins: readonly Origin[]): OriginVerdict[] {
  const pool = poolAt(choice, choice.pool);
  const may = (index: number, families: number, onlyHealthy: boolean): boolean =>
    isEligible(choice, standing.states, pool, index, families, onlyHealthy);
  return origins.map(({ name, address, weight, enabled }, index): OriginVerdict => {
    const verdict =
      index === chosen
        ? 'chosen'
        : !enabled
          ? 'disabled'
          : weight === 0
            ? 'no weight'
            : !may(index, asker.families, false)
              ? 'another family'
              : may(index, 0, true)
                ? 'candidate'
                : 'unhealthy';
    return { name, address, weight, verdict };
  });
}

function originStep(
  { choice, origin, standing, asker }: Balance,
  { answer }: LoadBalancer,
  origins: readonly OriginVerdict[],
): string {
  const chosen = origins[origin];
  if (!chosen) return 'None of its origins has an address of this family that may be answered: the answer has no data.';
  const pool = poolAt(choice, choice.pool);
  const isHealthy = isEligible(choice, standing.states, pool, origin, asker.families, true);
  const able = origins.filter(
    ({ verdict }) => verdict === 'chosen' || verdict === (isHealthy ? 'candidate' : 'unhealthy'),
  );
  const of = `${able.length === 1 ? 'the only one' : `one of ${able.length}`}${isHealthy ? '' : ', although not healthy'}`;
  const by = choice.words[pool + PoolWord.policy] === OriginPolicy.hash ? 'by the address of the asker' : 'by weight';
  const how = able.length === 1 ? of : `${of}, ${by}`;
  const more =
    answer === 'all' && able.length > 1 ? ' The others are in the answer, too, unless the zone is signed.' : '';
  return `Origin ${chosen.name}, ${chosen.address}: ${how}.${more}`;
}
