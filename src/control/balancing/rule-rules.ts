/** Rules of the rules of load balancers. */
import { type Members, memberOr, membersOf } from '../../balancing/members.js';
import { requireText, requireWhole } from './check.js';
import { faultOfCondition } from './conditions.js';
import { invalid } from './errors.js';
import { checkFixedResponse } from './fixed-response-rules.js';
import { checkFlat } from './pool-set-rules.js';

const MOST_RULES = 50;
const LONGEST_CONDITION = 4096;
/** Of all conditions together: they are evaluated for each query, and other queries wait meanwhile. */
const LONGEST_CONDITIONS = 8192;

/** `checkOverrides`: gets the overrides of a rule and the pointer to them. */
export function checkRules(rules: readonly Members[], checkOverrides: (overrides: Members, at: string) => void): void {
  if (rules.length > MOST_RULES) throw invalid(`rules has more than ${MOST_RULES} rules`, '/rules');
  const characters = rules.reduce((sum, rule) => sum + memberOr(rule, 'condition', '').length, 0);
  if (characters > LONGEST_CONDITIONS) {
    throw invalid(`the conditions of all rules have more than ${LONGEST_CONDITIONS} characters`, '/rules');
  }
  for (const [i, rule] of rules.entries()) {
    const at = `/rules/${i}`;
    requireText(rule, 'name', 200, at);
    requireWhole(rule, 'priority', { least: 0, most: 2 ** 31 - 1 }, at);
    const condition = memberOr(rule, 'condition', '');
    if (condition.length > LONGEST_CONDITION) {
      throw invalid(`condition is longer than ${LONGEST_CONDITION} characters`, `${at}/condition`);
    }
    const fault = faultOfCondition(condition);
    if (fault !== undefined) throw invalid(`condition of rule ${i}: ${fault}`, `${at}/condition`);
    if (rule.fixed_response) checkFixedResponse(membersOf(rule, 'fixed_response'), `${at}/fixed_response`);
    const overrides = membersOf(rule, 'overrides');
    checkOverrides(overrides, `${at}/overrides`);
    checkFlat(overrides, `rule ${i}`, Boolean(rule.fixed_response), `${at}/overrides`);
    requireOneWay(overrides, `${at}/overrides`);
  }
}

/** Two members that contradict each other are refused. */
function requireOneWay(overrides: Members, at: string): void {
  const has = (name: string): boolean => overrides[name] !== undefined && overrides[name] !== null;
  const lists = ['default_pools', 'region_pools', 'country_pools', 'pop_pools'];
  for (const [one, others] of [
    ['pools', lists],
    ['pool_weights', ['random_steering']],
    ['pool_default_weight', ['random_steering']],
  ] as const) {
    const other = has(one) ? others.find(has) : undefined;
    if (other !== undefined) throw invalid(`${one} and ${other} are both set`, `${at}/${one}`);
  }
}
