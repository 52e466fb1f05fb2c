/** Rules of pool sets. Messages begin with the code that clients know. */
import { STEERING_POLICIES } from '../../balancing/load-balancer.js';
import { type Members, memberOr, membersOf } from '../../balancing/members.js';
import { REGIONS } from '../../balancing/region-codes.js';
import { checkPoolList, requireText, requireWeight } from './check.js';
import { invalid } from './errors.js';
import { checkFixedResponse } from './fixed-response-rules.js';

const MOST_SETS = 1000;
const MOST_VALUES = 1000;

export function checkPoolSets(sets: readonly Members[]): void {
  if (sets.length > MOST_SETS) {
    throw invalid(`POOL_SETS_TOO_LARGE: pool_sets has more than ${MOST_SETS} pool sets`, '/pool_sets');
  }
  for (const [i, set] of sets.entries()) {
    const at = `/pool_sets/${i}`;
    requireText(set, 'name', 200, at);
    checkMatch(set, at);
    checkIntent(set, at);
  }
}

function checkIntent(set: Members, at: string): void {
  const fixed = set.fixed_response ? membersOf(set, 'fixed_response') : undefined;
  const overrides = membersOf(set, 'overrides');
  if (!fixed && Object.values(overrides).every((value) => value === undefined || value === null)) {
    throw invalid(`POOL_SET_NO_INTENT: pool set ${i(at)} has neither overrides nor a fixed_response`, at);
  }
  if (fixed) checkFixedResponse(fixed, `${at}/fixed_response`);
  checkFlat(overrides, `pool set ${i(at)}`, fixed !== undefined, `${at}/overrides`);
  const policy = memberOr(overrides, 'steering_policy', '');
  if (!(STEERING_POLICIES as readonly string[]).includes(policy)) {
    throw invalid(`steering_policy of pool set ${i(at)} is unknown`, `${at}/overrides/steering_policy`);
  }
}

/** A flat list of pools and its weights, of a pool set or a rule. `at`: pointer to the overrides. */
export function checkFlat(overrides: Members, ofWhat: string, isFixed: boolean, at: string): void {
  const pools = memberOr<readonly string[] | undefined>(overrides, 'pools', undefined);
  if (isFixed && pools) throw invalid(`${ofWhat} has both pools and a fixed_response`, `${at}/pools`);
  if (pools && pools.length === 0) throw invalid(`pools of ${ofWhat} is empty`, `${at}/pools`);
  checkPoolList(pools ?? [], `pools of ${ofWhat}`, `${at}/pools`);
  requireWeight(overrides.pool_default_weight, 'pool_default_weight', `${at}/pool_default_weight`);
  for (const [id, weight] of Object.entries(membersOf(overrides, 'pool_weights'))) {
    requireWeight(weight, 'pool_weights', `${at}/pool_weights/${id}`);
  }
}

/** The number of a pool set, from its pointer. */
function i(at: string): string {
  return at.slice('/pool_sets/'.length);
}

function checkMatch(set: Members, at: string): void {
  if (set.match === undefined || set.match === null) return;
  const match = membersOf(set, 'match');
  const isDefault = match.default === true;
  const hasTopology = match.topology !== undefined && match.topology !== null;
  if (!isDefault && !hasTopology) {
    throw invalid(`POOL_SET_EMPTY_MATCH: match of pool set ${i(at)} has neither default nor topology`, `${at}/match`);
  }
  if (isDefault && hasTopology) {
    throw invalid(
      `POOL_SET_DEFAULT_WITH_MATCH: match of pool set ${i(at)} has both default and topology`,
      `${at}/match`,
    );
  }
  if (hasTopology) checkTopology(membersOf(match, 'topology'), at);
}

const CODES: Readonly<Record<string, (code: string) => boolean>> = {
  pops: (code) => /^[A-Z]{3}$/.test(code),
  countries: (code) => /^[A-Z]{2}$/.test(code),
  regions: (code) => (REGIONS as readonly string[]).includes(code),
};

function checkTopology(topology: Members, at: string): void {
  const lists = Object.entries(CODES).map(([name, isCode]) => {
    return { name, isCode, codes: memberOr<readonly string[]>(topology, name, []) };
  });
  const place = `${at}/match/topology`;
  if (lists.every(({ codes }) => codes.length === 0)) {
    throw invalid(`POOL_SET_EMPTY_TOPOLOGY: topology of pool set ${i(at)} is empty`, place);
  }
  for (const { name, isCode, codes } of lists) {
    if (codes.length > MOST_VALUES) {
      throw invalid(
        `POOL_SET_TOPOLOGY_TOO_LARGE: ${name} of pool set ${i(at)} has more than ${MOST_VALUES}`,
        `${place}/${name}`,
      );
    }
    const unknown = codes.find((code) => !isCode(code));
    if (unknown !== undefined) {
      throw invalid(`${name} of pool set ${i(at)} has the unknown code ${unknown.slice(0, 20)}`, `${place}/${name}`);
    }
  }
}
