/** Compiles the stored rules, once for each state of a zone. */
import { type Condition, compileExpression } from '../expressions/compile.js';
import { RuleFault } from './fault.js';
import { type CompiledPageRule, compilePageRules, type StoredPageRule } from './page-rule.js';
import { type Action, fieldsOf, RULE_LIMITS, readParameters } from './parameters.js';
import { PAGE_RULES, type Phase } from './phases.js';
import type { StoredRule } from './rule.js';
import type { Subject } from './subject.js';

export interface CompiledRule {
  readonly rule: Pick<StoredRule, 'id' | 'description' | 'expression'>;
  readonly holds: Condition<Subject>;
  readonly action: Action;
}

/** The rules of a zone that are enabled, by phase. */
export interface ZoneRules {
  readonly redirects: readonly CompiledRule[];
  readonly rewrites: readonly CompiledRule[];
  readonly requestHeaders: readonly CompiledRule[];
  readonly responseHeaders: readonly CompiledRule[];
  readonly pages: readonly CompiledPageRule[];
}

/** The sets of a zone as they are stored; undefined: no rule is enabled. */
export function compileZone(
  sets: readonly { readonly phase: string; readonly rules: string }[],
): ZoneRules | undefined {
  const rulesIn = (phase: string): unknown => {
    const set = sets.find((one) => one.phase === phase);
    return set ? JSON.parse(set.rules) : [];
  };
  const compiled = (phase: Phase): readonly CompiledRule[] => compileRules(phase, rulesIn(phase) as StoredRule[]);
  const rules = {
    redirects: compiled('http_request_dynamic_redirect'),
    rewrites: compiled('http_request_transform'),
    requestHeaders: compiled('http_request_late_transform'),
    responseHeaders: compiled('http_response_headers_transform'),
    pages: compilePageRules(rulesIn(PAGE_RULES) as StoredPageRule[]),
  };
  return Object.values(rules).some((list) => list.length > 0) ? rules : undefined;
}

/** The rules of a phase that are enabled. A rule that an earlier program accepted and this one does not is left out. */
function compileRules(phase: Phase, rules: readonly StoredRule[]): readonly CompiledRule[] {
  return rules.flatMap((rule) => {
    if (!rule.enabled) return [];
    try {
      const made = compileExpression(rule.expression, fieldsOf(phase), RULE_LIMITS);
      return made.ok ? [{ rule, holds: made.holds, action: readParameters(phase, rule.action_parameters) }] : [];
    } catch (error) {
      if (error instanceof RuleFault) return [];
      throw error;
    }
  });
}
