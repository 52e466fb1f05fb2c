/** Rulesets as use cases return them. Identifiers are 32 hexadecimal digits, times microseconds since 1970. */
import { toHex } from '../../base/bytes.js';
import type { StoredRule } from '../../rulesets/rule.js';
import type { RulesetRow } from '../../store/edge/rulesets.js';

export interface RulesetItem {
  readonly id: string;
  readonly phase: string;
  readonly name: string;
  readonly description: string;
  readonly version: number;
  readonly modifiedAt: number;
  readonly rules: readonly StoredRule[];
  /** The entity tag of its state, with quotes. */
  readonly tag: string;
}

export function rulesetItem(row: RulesetRow): RulesetItem {
  const { id, phase, name, description, version, modified_at: modifiedAt } = row;
  return {
    ...{ id: toHex(id), phase, name, description, version, modifiedAt },
    rules: rulesOf(row),
    tag: tagOf(row),
  };
}

export function rulesOf({ rules }: Pick<RulesetRow, 'rules'>): StoredRule[] {
  return JSON.parse(rules) as StoredRule[];
}

export function tagOf({ id, version }: Pick<RulesetRow, 'id' | 'version'>): string {
  return `"${toHex(id).slice(0, 8)}-${version}"`;
}
