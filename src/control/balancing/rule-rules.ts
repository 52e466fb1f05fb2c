/** Rules of the rules of load balancers. */
import { type Members, memberOr, membersOf } from '../../balancing/members.js';
import { requireText, requireWhole } from './check.js';
import { faultOfCondition } from './conditions.js';
import { invalid } from './errors.js';
import { checkFixedResponse } from './fixed-response-rules.js';

const MOST_RULES = 50;
const LONGEST_CONDITION = 4096;

/** `checkOverrides`: gets the overrides of a rule and the pointer to them. */
export function checkRules(rules: readonly Members[], checkOverrides: (overrides: Members, at: string) => void): void {
  if (rules.length > MOST_RULES) throw invalid(`rules has more than ${MOST_RULES} rules`, '/rules');
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
    checkOverrides(membersOf(rule, 'overrides'), `${at}/overrides`);
  }
}
