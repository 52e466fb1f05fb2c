/** Use cases of page rules (v4: page rules). They are one set of each zone, as the rules of a phase are. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { type Members, RuleFault } from '../../rulesets/fault.js';
import { inOrder, readPageRule, type StoredPageRule } from '../../rulesets/page-rule.js';
import { PAGE_RULES } from '../../rulesets/phases.js';
import { type RulesetRow, rulesetAt } from '../../store/edge/rulesets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { readSettingValue, ZONE_SETTING_NAMES } from '../zones/setting-values.js';
import { requirePhase, requireState } from './access.js';
import { rulesetFailure } from './errors.js';
import { tagOf } from './item.js';
import { writeRuleset } from './write.js';

/** `tag`: the entity tag of all page rules of the zone. */
export interface PageRules {
  readonly rules: readonly StoredPageRule[];
  readonly tag: string | undefined;
}

/** In the order in which they are looked at. */
export async function listPageRules(ctx: Context, zoneId: string): Promise<PageRules> {
  const { row, rules } = readSet(ctx, zoneId);
  return { rules: inOrder(rules), tag: row && tagOf(row) };
}

export async function getPageRule(ctx: Context, zoneId: string, id: string): Promise<StoredPageRule> {
  return requireRule(readSet(ctx, zoneId).rules, id);
}

export async function createPageRule(ctx: Context, zoneId: string, input: Members): Promise<StoredPageRule> {
  const id = toHex(makeId(ctx.clock.nowUs(), ctx.random));
  return change(ctx, zoneId, (rules, draft, zone) => {
    const made = { ...read(input), id, created_on: draft.now, modified_on: draft.now };
    draft.event({ kind: 'page_rule.create', zone, name: nameOf(made), after: made });
    return { rules: [...rules, made], value: made };
  });
}

/** Replaces all members; a status that is absent stays. */
export async function replacePageRule(
  ctx: Context,
  zoneId: string,
  id: string,
  input: Members,
): Promise<StoredPageRule> {
  return rewrite(ctx, zoneId, id, ({ priority, status }) => ({ priority, status, ...input }));
}

/** Members that are absent stay as they are. */
export async function editPageRule(ctx: Context, zoneId: string, id: string, input: Members): Promise<StoredPageRule> {
  return rewrite(ctx, zoneId, id, (known) => ({ ...known, ...input }));
}

export async function deletePageRule(ctx: Context, zoneId: string, id: string): Promise<{ readonly id: string }> {
  return change(ctx, zoneId, (rules, draft, zone) => {
    const known = requireRule(rules, id);
    draft.event({ kind: 'page_rule.delete', zone, name: nameOf(known), before: known });
    return { rules: rules.filter((rule) => rule !== known), value: { id } };
  });
}

function rewrite(
  ctx: Context,
  zoneId: string,
  id: string,
  membersOf: (known: StoredPageRule) => Members,
): Promise<StoredPageRule> {
  return change(ctx, zoneId, (rules, draft, zone) => {
    const known = requireRule(rules, id);
    const { created_on, modified_on: _, ...before } = known;
    const members = { ...read(membersOf(known)), id };
    const isSame = JSON.stringify({ ...before, ...members }) === JSON.stringify(before);
    if (isSame) return { rules, value: known };
    const after = { ...members, created_on, modified_on: draft.now };
    draft.event({ kind: 'page_rule.edit', zone, name: nameOf(after), before: known, after });
    return { rules: rules.map((rule) => (rule === known ? after : rule)), value: after };
  });
}

const nameOf = ({ targets: [{ constraint }] }: StoredPageRule): string => constraint.value;

function requireRule(rules: readonly StoredPageRule[], id: string): StoredPageRule {
  const known = rules.find((rule) => rule.id === id);
  if (!known) throw rulesetFailure('pageRuleMissing', { id: id.slice(0, 64) });
  return known;
}

function read(input: Members) {
  try {
    return readPageRule(input, 1, (name, value) => {
      const known = ZONE_SETTING_NAMES.find((candidate) => candidate === name);
      return known && readSettingValue(known, value);
    });
  } catch (error) {
    if (!(error instanceof RuleFault)) throw error;
    throw rulesetFailure('pageRule', { reason: error.message }, { pointer: error.pointer });
  }
}

function rulesIn(row: RulesetRow | undefined): StoredPageRule[] {
  return row ? (JSON.parse(row.rules) as StoredPageRule[]) : [];
}

/** Who sees the zone may learn that it has no page rules. */
function readSet(ctx: Context, zoneId: string) {
  const { store, actor } = ctx;
  const zone = requireZone({ store, actor }, zoneId);
  const row = rulesetAt(store, zone.seq, PAGE_RULES);
  const rules = rulesIn(row);
  if (rules.length > 0) requirePhase(ctx, zone, PAGE_RULES, 'read');
  return { row, rules };
}

async function change<Value>(
  ctx: Context,
  zoneId: string,
  edit: (
    rules: readonly StoredPageRule[],
    draft: Draft,
    zone: ZoneRow,
  ) => { readonly rules: readonly StoredPageRule[]; readonly value: Value },
): Promise<Value> {
  const { value } = await commit(ctx, (draft) => {
    const { store, actor } = ctx;
    const zone = requireZone({ store, actor }, zoneId);
    const row = rulesetAt(store, zone.seq, PAGE_RULES);
    requireState(ctx, row);
    const edited = edit(rulesIn(row), draft, zone);
    writeRuleset(ctx, draft, zone, row, { phase: PAGE_RULES, name: '', description: '', rules: edited.rules });
    return edited.value;
  });
  return value;
}
