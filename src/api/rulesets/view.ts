/** Rulesets as v4 clients read them. */
import type { RulesetItem } from '../../control/rulesets/item.js';
import { printTime } from '../times.js';
import type { ListedRulesetShape, RulesetShape } from './schema.js';

export function listedView({ id, name, description, phase, version, modifiedAt }: RulesetItem): ListedRulesetShape {
  return {
    ...{ id, name, description, kind: 'zone', phase },
    ...{ version: String(version), last_updated: printTime(modifiedAt) },
  };
}

export function rulesetView(item: RulesetItem): RulesetShape {
  const rules = item.rules.map(({ last_updated: updated, action_parameters: parameters, ...rule }) => ({
    ...rule,
    ...{ action_parameters: parameters, last_updated: printTime(updated) },
  }));
  return { ...listedView(item), rules };
}
