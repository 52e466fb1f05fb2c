/**
 * What a load balancer makes of its owner: the records that stand there instead of addresses and aliases, as transfers and the edge
 * see them, and everything that DNS may answer there, one origin each. Which of it is answered, is chosen for each question.
 */
import { type LoadBalancer, loadBalancerOf } from '../balancing/load-balancer.js';
import { type Origin, type Pool, poolOf } from '../balancing/pool.js';
import { Type } from '../dns/codes.js';
import { parseName } from '../dns/name.js';
import type { RRset } from '../dns/rr.js';
import { servedTtl } from '../dns/ttl.js';
import { poolsSeenBy } from '../store/balancing/earlier-pools.js';
import { type LoadBalancerRow, loadBalancerAt } from '../store/balancing/load-balancers.js';
import type { Store } from '../store/driver.js';
import type { TargetLookup } from '../zone/derive/flatten.js';
import type { RecordFacts } from '../zone/derive/owner.js';
import { countedMonitors } from './pool-health.js';

/** A pool as a load balancer sees it. */
export interface BalancedPool {
  /** Store number. */
  readonly seq: number;
  readonly pool: Pool;
  /** Whether health plays a part. */
  readonly monitored: boolean;
}

/** An enabled load balancer with every pool that it refers to. */
export interface Balanced {
  readonly row: LoadBalancerRow;
  readonly balancer: LoadBalancer;
  readonly pools: readonly BalancedPool[];
}

/** What an origin answers: indexes of {@link BalancedAnswers.rrsets}. */
export interface OriginAnswers {
  readonly ipv4?: number;
  readonly ipv6?: number;
  readonly alias?: number;
}

export interface BalancedAnswers {
  readonly balanced: Balanced;
  /** Each is the whole answer to a question; several have the same type. */
  readonly rrsets: readonly RRset[];
  /** For each pool and each of its origins. */
  readonly origins: readonly (readonly OriginAnswers[])[];
}

/** The enabled load balancer of exactly this owner. `zone`: store number. */
export function balancedAt(store: Store, zone: number, ownerKey: Uint8Array): Balanced | undefined {
  const row = loadBalancerAt(store, zone, ownerKey);
  return row?.enabled === 1 ? balancedOf(store, row) : undefined;
}

function balancedOf(store: Store, row: LoadBalancerRow): Balanced {
  const pools = poolsSeenBy(store, row.seq).map((pool) => ({
    seq: pool.seq,
    pool: poolOf(pool),
    monitored: pool.monitored === null ? countedMonitors(store, pool).length > 0 : pool.monitored === 1,
  }));
  return { row, balancer: loadBalancerOf(row), pools };
}

/** Types that a load balancer hides at its name. */
const HIDDEN: ReadonlySet<number> = new Set([Type.a, Type.aaaa, Type.cname]);

/** Whether a load balancer hides records of this type at its name. */
export function isHiddenType(type: number): boolean {
  return HIDDEN.has(type);
}

/**
 * The records of its owner: those that it does not hide, and in place of the others what does not depend on health, the addresses of
 * the first pool that has any, for each family. Where transfers follow health, they are those of origins that were healthy when that was
 * last looked at, if there were any. So the types of the owner are those that it can ever answer. There is always a
 * record, because the name exists.
 */
export function balancedRecords(balanced: Balanced, records: readonly RecordFacts[]): readonly RecordFacts[] {
  const kept = records.filter(({ type }) => !HIDDEN.has(type));
  const { balancer } = balanced;
  const { transferView: view } = balancer;
  const facts = { ttl: balancer.proxied ? 1 : balancer.ttl, proxied: balancer.proxied };
  const pools = inOrder(balanced);
  const isHealthy: IsCarried = ({ pool, monitored }, { name }) =>
    !monitored || view?.[pool.id]?.includes(name) === true;
  const addresses = [4, 16].flatMap((length) =>
    firstAddresses(pools, length, view ? [isHealthy, () => true] : [() => true]).map(({ ip }) => {
      return { ...facts, type: length === 4 ? Type.a : Type.aaaa, rdata: ip! };
    }),
  );
  if (addresses.length > 0) return [...kept, ...addresses];
  const named = pools.flatMap(({ pool }) => pool.origins).find((one) => !one.ip && isAnswered(one));
  if (!named) return kept.length > 0 ? kept : [NOTHING];
  return [...kept, { ...facts, type: Type.cname, rdata: targetOf(named), flattenCname: named.flattenCname }];
}

type IsCarried = (of: BalancedPool, origin: Origin) => boolean;

/** The origins of the first pool that has addresses of this many octets, found in the first of these ways that gives any. */
function firstAddresses(pools: readonly BalancedPool[], length: number, ways: readonly IsCarried[]): readonly Origin[] {
  for (const isCarried of ways) {
    for (const one of pools) {
      const found = one.pool.origins.filter(
        (origin) => origin.ip?.length === length && isAnswered(origin) && isCarried(one, origin),
      );
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** Below the apex an SOA is never served: the name exists without data. */
const NOTHING: RecordFacts = { type: Type.soa, ttl: 1, proxied: false, rdata: new Uint8Array(0) };

function isAnswered({ enabled, weight }: Origin): boolean {
  return enabled && weight > 0;
}

function targetOf({ address }: Origin): Uint8Array {
  return parseName(`${address}.`);
}

/** The enabled pools: default ones, the fallback pool, then all others. */
function inOrder({ balancer, pools }: Balanced): readonly BalancedPool[] {
  const rank = new Map(
    [...balancer.defaultPools, balancer.fallbackPool].reverse().map((id, i, all) => [id, all.length - i]),
  );
  const rankOf = ({ pool: { id } }: BalancedPool): number => rank.get(id) ?? Number.MAX_SAFE_INTEGER;
  return pools.filter(({ pool: { enabled } }) => enabled).sort((a, b) => rankOf(a) - rankOf(b));
}

/**
 * All that may be answered. `mayAlias`: whether a CNAME may stand at the owner. An origin with a host name answers its addresses if
 * they are known, and the CNAME otherwise, or when its owner wants that.
 */
export function answersOf(balanced: Balanced, mayAlias: boolean, lookUp: TargetLookup): BalancedAnswers {
  const ttl = servedTtl(balanced.balancer.ttl);
  const rrsets: RRset[] = [];
  const known = new Map<string, number>();
  const indexOf = (type: number, rdatas: readonly Uint8Array[]): number | undefined => {
    if (rdatas.length === 0) return undefined;
    const key = `${type} ${rdatas.map((rdata) => Buffer.from(rdata).toString('latin1')).join()}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    known.set(key, rrsets.length);
    return rrsets.push({ type, ttl, rdatas }) - 1;
  };
  const answers = (origin: Origin): OriginAnswers => {
    const { ip, flattenCname } = origin;
    if (!isAnswered(origin)) return {};
    if (ip) return ip.length === 4 ? present('ipv4', indexOf(Type.a, [ip])) : present('ipv6', indexOf(Type.aaaa, [ip]));
    const target = targetOf(origin);
    const facts = flattenCname || !mayAlias ? lookUp(target) : undefined;
    if (!facts) return mayAlias ? present('alias', indexOf(Type.cname, [target])) : {};
    return {
      ...present('ipv4', indexOf(Type.a, facts.ipv4 ?? [])),
      ...present('ipv6', indexOf(Type.aaaa, facts.ipv6 ?? [])),
    };
  };
  const origins = balanced.pools.map(({ pool }) => pool.origins.map((origin) => (pool.enabled ? answers(origin) : {})));
  return { balanced, rrsets, origins };
}

/** The RRsets of an owner that are signed: those that transfers carry, and those that may be answered in their place. */
export function signedRRsets({ rrsets, balanced }: Served): readonly RRset[] {
  return balanced ? [...rrsets, ...balanced.rrsets] : rrsets;
}

interface Served {
  readonly rrsets: readonly RRset[];
  readonly balanced?: BalancedAnswers;
}

function present(name: keyof OriginAnswers, index: number | undefined): OriginAnswers {
  return index === undefined ? {} : { [name]: index };
}
