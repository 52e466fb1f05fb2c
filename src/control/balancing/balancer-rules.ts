/** Rules of load balancers, apart from their names. */
import { AFFINITIES, STEERING_POLICIES } from '../../balancing/load-balancer.js';
import { type Members, memberOr, membersOf } from '../../balancing/members.js';
import { poolsReferredTo } from '../../balancing/references.js';
import { REGIONS } from '../../balancing/region-codes.js';
import { checkPoolList, requireText, requireWeight, requireWhole } from './check.js';
import { invalid } from './errors.js';
import { checkPoolSets } from './pool-set-rules.js';
import { checkRules } from './rule-rules.js';

const MOST_CODES = 1000;
/** No more than what chooses between them has room for. */
const MOST_POOLS_IN_ALL = 1000;
const LONGEST_DRAIN = 86_400;

/** Throws 1002 for a load balancer that means nothing. Codes are in upper case already. */
export function checkBalancer(members: Members): void {
  requireText(members, 'description', 1000);
  checkTtl(members.ttl, '/ttl');
  const pools = memberOr<readonly string[]>(members, 'default_pools', []);
  if (pools.length === 0) throw invalid('default_pools is empty', '/default_pools');
  if (memberOr(members, 'fallback_pool', '') === '') throw invalid('fallback_pool is missing', '/fallback_pool');
  checkSteering(members, '');
  checkAffinity(members, '');
  checkRules(memberOr<readonly Members[]>(members, 'rules', []), (overrides, at) => {
    checkTtl(overrides.ttl, `${at}/ttl`);
    checkSteering(overrides, at);
    checkAffinity(overrides, at);
  });
  checkPoolSets(memberOr<readonly Members[]>(members, 'pool_sets', []));
  if (poolsReferredTo(members).length > MOST_POOLS_IN_ALL) {
    throw invalid(`the load balancer refers to more than ${MOST_POOLS_IN_ALL} pools`, '/default_pools');
  }
}

/** `at`: pointer to a load balancer, or to the overrides of a rule. */
function checkSteering(members: Members, at: string): void {
  checkPoolList(memberOr<readonly string[]>(members, 'default_pools', []), 'default_pools', `${at}/default_pools`);
  checkPoolMap(members, 'region_pools', at, (code) => (REGIONS as readonly string[]).includes(code));
  checkPoolMap(members, 'country_pools', at, (code) => /^[A-Z]{2}$/.test(code));
  checkPoolMap(members, 'pop_pools', at, (code) => /^[A-Z]{3}$/.test(code));
  const policy = memberOr(members, 'steering_policy', '');
  if (!(STEERING_POLICIES as readonly string[]).includes(policy)) {
    throw invalid(
      `steering_policy is not one of ${STEERING_POLICIES.filter(Boolean).join(', ')}`,
      `${at}/steering_policy`,
    );
  }
  const weights = membersOf(members, 'random_steering');
  requireWeight(weights.default_weight, 'default_weight', `${at}/random_steering/default_weight`);
  for (const [id, weight] of Object.entries(membersOf(weights, 'pool_weights'))) {
    requireWeight(weight, 'pool_weights', `${at}/random_steering/pool_weights/${id}`);
  }
}

function checkTtl(value: unknown, at: string): void {
  if (value === undefined || value === null || value === 1) return;
  if (!Number.isInteger(value) || (value as number) < 10 || (value as number) > 86_400) {
    throw invalid('ttl is not 1 or in range [10, 86400]', at);
  }
}

function checkPoolMap(members: Members, name: string, at: string, isCode: (code: string) => boolean): void {
  const map = membersOf(members, name) as Readonly<Record<string, readonly string[]>>;
  const entries = Object.entries(map);
  if (entries.length > MOST_CODES) throw invalid(`${name} has more than ${MOST_CODES} codes`, `${at}/${name}`);
  for (const [code, pools] of entries) {
    if (!isCode(code)) throw invalid(`${name} has the unknown code ${code.slice(0, 20)}`, `${at}/${name}`);
    if (pools.length === 0) throw invalid(`${name} has no pools for ${code}`, `${at}/${name}/${code}`);
    checkPoolList(pools, `${name} for ${code}`, `${at}/${name}/${code}`);
  }
}

function checkAffinity(members: Members, at: string): void {
  const kind = memberOr<string>(members, 'session_affinity', '');
  if (!(AFFINITIES as readonly string[]).includes(kind)) {
    throw invalid(`session_affinity is not one of ${AFFINITIES.filter(Boolean).join(', ')}`, `${at}/session_affinity`);
  }
  const range = kind === 'header' ? { least: 30, most: 3600 } : { least: 1800, most: 604_800 };
  // Without sessions, it says nothing; clients send 0 then.
  if (kind !== '' && kind !== 'none') requireWhole(members, 'session_affinity_ttl', range, at);
  else requireWhole(members, 'session_affinity_ttl', { least: 0, most: 604_800 }, at);
  const attributes = membersOf(members, 'session_affinity_attributes');
  const place = `${at}/session_affinity_attributes`;
  requireWhole(attributes, 'drain_duration', { least: 0, most: LONGEST_DRAIN }, place);
  if (attributes.samesite === 'None' && attributes.secure === 'Never') {
    throw invalid('samesite None needs secure Auto or Always', `${place}/secure`);
  }
  if (attributes.zero_downtime_failover === 'sticky' && kind === 'header') {
    throw invalid(
      'zero_downtime_failover sticky is not possible with session_affinity header',
      `${place}/zero_downtime_failover`,
    );
  }
  checkAffinityHeaders(memberOr<readonly string[]>(attributes, 'headers', []), kind, `${place}/headers`);
}

const SESSION_HEADER = /^(?:cookie(?::[^\s,;="]{1,64}(?:,[^\s,;="]{1,64}){0,4})?|[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100})$/i;

function checkAffinityHeaders(headers: readonly string[], kind: string, at: string): void {
  if (headers.length > 5) throw invalid('headers has more than 5 names', at);
  for (const [i, header] of headers.entries()) {
    if (!SESSION_HEADER.test(header)) throw invalid(`headers has ${JSON.stringify(header.slice(0, 40))}`, `${at}/${i}`);
  }
  if (kind === 'header' && headers.length === 0) throw invalid('session_affinity header needs headers', at);
}
