/** Use cases of single rules of a ruleset (v4: rulesets). */

import type { Members } from '../../rulesets/fault.js';
import type { Phase } from '../../rulesets/phases.js';
import { readRule, type StoredRule } from '../../rulesets/rule.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRuledZone, requireRuleset } from './access.js';
import { checked, invalid, rulesetFailure } from './errors.js';
import { type RulesetItem, rulesetItem, rulesOf } from './item.js';
import { type RulesPlace, requireOwnRefs, storedRule } from './read-rules.js';
import { noteRuleset, writeRuleset } from './write.js';

/** At the end, unless `position` says where. */
export async function addRule(ctx: Context, zoneId: string, rulesetId: string, input: Members): Promise<RulesetItem> {
  return change(ctx, zoneId, rulesetId, (rules, place) => {
    const { position, ...members } = input;
    const written = checked('', () => readRule(place.phase, members));
    if (written.id !== undefined) throw invalid('/id', 'a new rule must not have an id');
    return placed(rules, storedRule(ctx, place, written, undefined), position, rules.length);
  });
}

/** Members that are absent stay as they are. */
export async function editRule(
  ctx: Context,
  zoneId: string,
  rulesetId: string,
  ruleId: string,
  input: Members,
): Promise<RulesetItem> {
  return change(ctx, zoneId, rulesetId, (rules, place) => {
    const { position, ...members } = input;
    const at = indexOf(rules, ruleId);
    const known = rules[at]!;
    if (members.id !== undefined && members.id !== known.id) throw invalid('/id', 'the id of a rule cannot change');
    const written = checked('', () => readRule(place.phase, { ...known, ...members }));
    return placed(rules.toSpliced(at, 1), storedRule(ctx, place, written, known), position, at);
  });
}

export async function removeRule(
  ctx: Context,
  zoneId: string,
  rulesetId: string,
  ruleId: string,
): Promise<RulesetItem> {
  return change(ctx, zoneId, rulesetId, (rules) => rules.toSpliced(indexOf(rules, ruleId), 1));
}

function indexOf(rules: readonly StoredRule[], ruleId: string): number {
  const at = rules.findIndex(({ id }) => id === ruleId);
  if (at < 0) throw rulesetFailure('ruleMissing', { id: ruleId });
  return at;
}

async function change(
  ctx: Context,
  zoneId: string,
  rulesetId: string,
  edit: (rules: readonly StoredRule[], place: RulesPlace) => readonly StoredRule[],
): Promise<RulesetItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    const before = requireRuleset(ctx, zone, rulesetId, 'write');
    const rules = edit(rulesOf(before), { phase: before.phase as Phase, now: draft.now });
    requireOwnRefs(rules, '');
    const row = writeRuleset(ctx, draft, zone, before, { ...before, rules });
    noteRuleset(draft, zone, before, row);
    return rulesetItem(row);
  });
  return value;
}

/** `position`: `before` or `after` another rule, the first or last one if that is empty, or an `index` from 1. */
function placed(
  others: readonly StoredRule[],
  rule: StoredRule,
  position: unknown,
  usual: number,
): readonly StoredRule[] {
  if (position === undefined || position === null) return others.toSpliced(usual, 0, rule);
  const entries = typeof position === 'object' ? Object.entries(position) : [];
  const [entry] = entries;
  if (!entry || entries.length > 1) throw invalid('/position', 'position must have before, after or index');
  const [way, where] = entry;
  if (way === 'index') {
    const isIndex = Number.isInteger(where) && (where as number) >= 1 && (where as number) <= others.length + 1;
    if (!isIndex) throw invalid('/position/index', `index must be a number from 1 to ${others.length + 1}`);
    return others.toSpliced((where as number) - 1, 0, rule);
  }
  if ((way !== 'before' && way !== 'after') || typeof where !== 'string') {
    throw invalid('/position', 'position must have before, after or index');
  }
  if (where === '') return others.toSpliced(way === 'before' ? 0 : others.length, 0, rule);
  const at = others.findIndex(({ id }) => id === where);
  if (at < 0) throw invalid(`/position/${way}`, `the ruleset has no other rule '${where.slice(0, 64)}'`);
  return others.toSpliced(way === 'before' ? at : at + 1, 0, rule);
}
