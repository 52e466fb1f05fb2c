/** Compiles a load balancer and its pools into a program (layout.ts). */
import {
  codeOf,
  Family,
  HEAD_WORDS,
  Head,
  HeadFlag,
  hashText,
  MOST_POOLS,
  ORIGIN_WORDS,
  OriginPolicy,
  OriginWord,
  PlaceMode,
  POOL_WORDS,
  Policy,
  PoolWord,
  RULE_WORDS,
  RuleWord,
  SET_WORDS,
  SetWord,
  ShedBy,
  STEERING_WORDS,
  SteeringWord,
  SubnetUse,
  UNIT,
} from './layout.js';

type PoolMap = Readonly<Record<string, readonly string[]>>;

interface PoolWeights {
  readonly defaultWeight: number;
  readonly poolWeights: Readonly<Record<string, number>>;
}

type PolicyName =
  | 'off'
  | 'geo'
  | 'random'
  | 'dynamic_latency'
  | 'proximity'
  | 'least_outstanding_requests'
  | 'least_connections';

/** How is chosen. Pools are named by their identifiers. */
export interface SteeringSource {
  readonly defaultPools: readonly string[];
  readonly fallbackPool: string;
  readonly policy: PolicyName;
  readonly regionPools: PoolMap;
  readonly countryPools: PoolMap;
  readonly popPools: PoolMap;
  readonly randomSteering: PoolWeights;
  readonly locationStrategy: {
    readonly mode: 'pop' | 'resolver_ip';
    readonly preferEcs: 'always' | 'never' | 'proximity' | 'geo';
  };
  readonly ttl: number;
}

export interface RuleSource {
  readonly condition: string;
  readonly disabled: boolean;
  readonly terminates: boolean;
  readonly fixedResponse: unknown;
  /** The parts of the steering that it sets. */
  readonly overrides: Partial<SteeringSource>;
}

export interface PoolSetSource {
  readonly disabled: boolean;
  readonly topology:
    | { readonly pops: readonly string[]; readonly countries: readonly string[]; readonly regions: readonly string[] }
    | undefined;
  readonly fixedResponse: unknown;
  readonly pools: readonly string[] | undefined;
  readonly fallbackPool: string | undefined;
  readonly policy: PolicyName | undefined;
  readonly weights: PoolWeights | undefined;
}

export interface OriginSource {
  /** Tells it apart for hashing: its share stays when others come and go. */
  readonly key: string;
  readonly enabled: boolean;
  /** 0 to 1. */
  readonly weight: number;
  /** Place in the table of states. */
  readonly slot: number;
  readonly hasIpv4: boolean;
  readonly hasIpv6: boolean;
  /** Indexes of what DNS answers. */
  readonly ipv4?: number;
  readonly ipv6?: number;
  readonly alias?: number;
}

export interface PoolSource {
  readonly id: string;
  /** Its store number, by which answers are counted. */
  readonly number?: number;
  readonly enabled: boolean;
  /** Whether health plays a part. */
  readonly monitored: boolean;
  readonly minimumOrigins: number;
  readonly place: { readonly latitude: number; readonly longitude: number } | undefined;
  readonly loadShedding: {
    readonly defaultPercent: number;
    readonly defaultPolicy: 'random' | 'hash';
    readonly sessionPercent: number;
  };
  readonly originPolicy: 'random' | 'hash' | 'least_outstanding_requests' | 'least_connections';
  readonly slot: number;
  readonly origins: readonly OriginSource[];
}

export interface BalancerSource extends SteeringSource {
  readonly answer: 'one' | 'all';
  /** By priority. */
  readonly rules: readonly RuleSource[];
  readonly poolSets: readonly PoolSetSource[];
  /** Every pool that it refers to. */
  readonly pools: readonly PoolSource[];
}

const POLICIES: Readonly<Record<PolicyName, number>> = {
  off: Policy.off,
  geo: Policy.geo,
  random: Policy.random,
  dynamic_latency: Policy.latency,
  proximity: Policy.proximity,
  least_outstanding_requests: Policy.requests,
  least_connections: Policy.connections,
};
const ORIGIN_POLICIES: Readonly<Record<PoolSource['originPolicy'], number>> = {
  random: OriginPolicy.random,
  hash: OriginPolicy.hash,
  least_outstanding_requests: OriginPolicy.requests,
  least_connections: OriginPolicy.connections,
};

/** A pool that is referred to and not among `pools` is left out of every list. */
export function compileProgram(source: BalancerSource): Int32Array {
  if (source.pools.length > MOST_POOLS) throw new RangeError(`a load balancer has at most ${MOST_POOLS} pools`);
  return new Compiler(source).whole();
}

class Compiler {
  private words = new Int32Array(256);
  private length = HEAD_WORDS;
  private readonly indexes: ReadonlyMap<string, number>;

  constructor(private readonly source: BalancerSource) {
    this.indexes = new Map(source.pools.map(({ id }, index) => [id, index]));
  }

  whole(): Int32Array {
    const { source } = this;
    const head: Record<number, number> = {
      [Head.pools]: source.pools.length,
      [Head.poolsAt]: this.putPools(),
      [Head.steering]: this.putSteering(),
      [Head.sets]: source.poolSets.length,
      [Head.setsAt]: this.putSets(),
      [Head.rules]: source.rules.length,
      [Head.rulesAt]: this.putRules(),
      [Head.flags]: (source.answer === 'all' ? HeadFlag.all : 0) | dependence(source),
    };
    for (const [word, value] of Object.entries(head)) this.words[Number(word)] = value;
    return this.words.slice(0, this.length);
  }

  private putPools(): number {
    const at = this.reserve(this.source.pools.length * POOL_WORDS);
    for (const [index, pool] of this.source.pools.entries()) {
      const { place, loadShedding } = pool;
      const [x, y, z] = place ? unitVector(place.latitude, place.longitude) : [0, 0, 0];
      this.put(at + index * POOL_WORDS, {
        [PoolWord.enabled]: Number(pool.enabled),
        [PoolWord.slot]: pool.slot,
        [PoolWord.monitored]: Number(pool.monitored),
        [PoolWord.minimum]: pool.minimumOrigins,
        [PoolWord.origins]: pool.origins.length,
        [PoolWord.originsAt]: this.putOrigins(pool.origins),
        ...{ [PoolWord.x]: x!, [PoolWord.y]: y!, [PoolWord.z]: z! },
        [PoolWord.shed]: Math.round(loadShedding.defaultPercent * 100),
        [PoolWord.shedBy]: loadShedding.defaultPolicy === 'hash' ? ShedBy.hash : ShedBy.random,
        [PoolWord.shedSessions]: Math.round(loadShedding.sessionPercent * 100),
        [PoolWord.policy]: ORIGIN_POLICIES[pool.originPolicy],
        [PoolWord.hash]: hashText(pool.id),
        [PoolWord.number]: pool.number ?? 0,
      });
    }
    return at;
  }

  private putOrigins(origins: readonly OriginSource[]): number {
    const at = this.reserve(origins.length * ORIGIN_WORDS);
    for (const [index, origin] of origins.entries()) {
      this.put(at + index * ORIGIN_WORDS, {
        [OriginWord.enabled]: Number(origin.enabled),
        [OriginWord.weight]: Math.round(origin.weight * 100),
        [OriginWord.slot]: origin.slot,
        [OriginWord.families]: (origin.hasIpv4 ? Family.ipv4 : 0) | (origin.hasIpv6 ? Family.ipv6 : 0),
        [OriginWord.ipv4]: origin.ipv4 ?? -1,
        [OriginWord.ipv6]: origin.ipv6 ?? -1,
        [OriginWord.alias]: origin.alias ?? -1,
        [OriginWord.hash]: hashText(origin.key),
      });
    }
    return at;
  }

  private putSteering(): number {
    const at = this.reserve(STEERING_WORDS);
    this.put(at, this.steeringWords(this.source));
    return at;
  }

  /** The words of those parts that are there. */
  private steeringWords(source: Partial<SteeringSource>): Record<number, number> {
    const { policy, defaultPools, fallbackPool, popPools, countryPools, regionPools, randomSteering, ttl } = source;
    const { locationStrategy: location } = source;
    const words: Record<number, number> = {};
    if (policy !== undefined) words[SteeringWord.policy] = POLICIES[policy];
    if (defaultPools) words[SteeringWord.pools] = this.putList(defaultPools);
    if (fallbackPool !== undefined) words[SteeringWord.fallback] = this.indexes.get(fallbackPool) ?? -1;
    if (popPools) words[SteeringWord.pops] = this.putMap(popPools);
    if (countryPools) words[SteeringWord.countries] = this.putMap(countryPools);
    if (regionPools) words[SteeringWord.regions] = this.putMap(regionPools);
    if (randomSteering) words[SteeringWord.weights] = this.putWeights(randomSteering);
    if (location) {
      words[SteeringWord.mode] = location.mode === 'resolver_ip' ? PlaceMode.resolver : PlaceMode.pop;
      words[SteeringWord.subnet] = SubnetUse[location.preferEcs];
    }
    if (ttl !== undefined) words[SteeringWord.ttl] = ttl;
    return words;
  }

  private putSets(): number {
    const { poolSets } = this.source;
    const at = this.reserve(poolSets.length * SET_WORDS);
    for (const [index, set] of poolSets.entries()) {
      const { topology, pools, fallbackPool, policy, weights } = set;
      const fallback = fallbackPool === undefined ? -1 : (this.indexes.get(fallbackPool) ?? -1);
      this.put(at + index * SET_WORDS, {
        [SetWord.placed]: Number(topology !== undefined),
        [SetWord.pops]: this.putCodes(topology?.pops ?? []),
        [SetWord.countries]: this.putCodes(topology?.countries ?? []),
        [SetWord.regions]: this.putCodes(topology?.regions ?? []),
        [SetWord.fixed]: Number(set.fixedResponse !== undefined),
        [SetWord.policy]: policy === undefined ? -1 : POLICIES[policy],
        [SetWord.pools]: pools ? this.putList(pools) : 0,
        [SetWord.fallback]: fallback,
        [SetWord.weights]: weights ? this.putWeights(weights) : 0,
        [SetWord.disabled]: Number(set.disabled),
      });
    }
    return at;
  }

  private putRules(): number {
    const { rules } = this.source;
    const at = this.reserve(rules.length * RULE_WORDS);
    for (const [index, rule] of rules.entries()) {
      const changes = Object.entries(this.steeringWords(rule.overrides));
      const changesAt = this.reserve(changes.length * 2);
      for (const [i, [word, value]] of changes.entries()) this.put(changesAt + i * 2, { 0: Number(word), 1: value });
      this.put(at + index * RULE_WORDS, {
        [RuleWord.disabled]: Number(rule.disabled),
        [RuleWord.terminates]: Number(rule.terminates),
        [RuleWord.fixed]: Number(rule.fixedResponse !== undefined),
        [RuleWord.changes]: changes.length,
        [RuleWord.changesAt]: changesAt,
      });
    }
    return at;
  }

  private putList(ids: readonly string[]): number {
    const known = ids.map((id) => this.indexes.get(id)).filter((index) => index !== undefined);
    return this.putAll([known.length, ...known]);
  }

  private putCodes(codes: readonly string[]): number {
    return codes.length === 0 ? 0 : this.putAll([codes.length, ...codes.map(codeOf).sort((a, b) => a - b)]);
  }

  private putMap(map: PoolMap): number {
    const entries = Object.entries(map).map(([code, ids]) => [codeOf(code), this.putList(ids)] as const);
    if (entries.length === 0) return 0;
    return this.putAll([entries.length, ...entries.sort(([a], [b]) => a - b).flat()]);
  }

  /** Weights in hundredths. */
  private putWeights({ defaultWeight, poolWeights }: PoolWeights): number {
    const weightOf = (id: string): number => (Object.hasOwn(poolWeights, id) ? poolWeights[id]! : defaultWeight);
    return this.putAll(this.source.pools.map(({ id }) => Math.round(weightOf(id) * 100)));
  }

  private putAll(values: readonly number[]): number {
    const at = this.reserve(values.length);
    this.words.set(values, at);
    return at;
  }

  /** Room for so many words, which are 0. */
  private reserve(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.words.length) {
      const grown = new Int32Array(Math.max(this.words.length * 2, this.length));
      grown.set(this.words);
      this.words = grown;
    }
    return at;
  }

  private put(at: number, values: Readonly<Record<number, number>>): void {
    for (const [word, value] of Object.entries(values)) this.words[at + Number(word)] = value;
  }
}

/** The prefix of condition fields that depend on the client subnet. */
const SUBNET_FIELDS = 'dns.rr.opt.client';

/** On what of the asker the result may depend: {@link HeadFlag}s. */
function dependence({ policy, rules, poolSets, pools }: BalancerSource): number {
  const isHashed = pools.some(
    ({ originPolicy, loadShedding }) =>
      originPolicy === 'hash' || (loadShedding.defaultPolicy === 'hash' && loadShedding.defaultPercent > 0),
  );
  const conditions = rules.flatMap(({ disabled, condition }) => (disabled ? [] : [condition]));
  const subnet = conditions.some((condition) => condition.includes(SUBNET_FIELDS)) ? HeadFlag.subnet : 0;
  // A condition may ask for the address, or for the region.
  if (isHashed || conditions.length > 0) return HeadFlag.placed | HeadFlag.exact | subnet;
  const isPlaced = (name: PolicyName | undefined): boolean => name === 'geo' || name === 'proximity';
  return isPlaced(policy) || poolSets.some((set) => set.topology || isPlaced(set.policy)) ? HeadFlag.placed : 0;
}

/** The direction from the centre of the earth, in units of 2^-30. Degrees. */
export function unitVector(latitude: number, longitude: number): [x: number, y: number, z: number] {
  const [phi, lambda] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
  const scale = (value: number): number => Math.round(value * UNIT);
  return [scale(Math.cos(phi) * Math.cos(lambda)), scale(Math.cos(phi) * Math.sin(lambda)), scale(Math.sin(phi))];
}
