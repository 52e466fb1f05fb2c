/** Writes rulesets inside a commit: limits, versions, events. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { insertRuleset, type RulesetRow, rulesetAt, rulesetsOfZone, updateRuleset } from '../../store/edge/rulesets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { requireRoomFor } from '../rules/quotas.js';
import { rulesetFailure } from './errors.js';

/** In all phases of a zone, page rules included. */
const MOST_RULES = 300;
/** Of a zone, as they are stored. */
const MOST_OCTETS = 256 * 1024;

export interface RulesetState {
  readonly phase: string;
  readonly name: string;
  readonly description: string;
  readonly rules: readonly { readonly id: string }[];
}

/** Stores the state, if it is another one; returns the row. */
export function writeRuleset(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  before: RulesetRow | undefined,
  state: RulesetState,
): RulesetRow {
  const { store, clock, random } = ctx;
  const { phase, name, description } = state;
  const rules = JSON.stringify(state.rules);
  if (before && before.rules === rules && before.name === name && before.description === description) return before;
  const octets = Buffer.byteLength(rules);
  requireWithin(ctx, zone, before, state.rules.length, octets);
  const version = (before?.version ?? 0) + 1;
  const values = { name, description, rules, octets, version, modified_at: draft.now };
  if (before) updateRuleset(store, before.seq, values);
  else {
    const { seq, account } = zone;
    insertRuleset(store, {
      ...{ ...values, id: makeId(clock.nowUs(), random), zone: seq, account, phase, created_at: draft.now },
    });
  }
  return rulesetAt(store, zone.seq, phase)!;
}

function requireWithin(
  ctx: Context,
  zone: ZoneRow,
  before: RulesetRow | undefined,
  count: number,
  octets: number,
): void {
  const others = rulesetsOfZone(ctx.store, zone.seq).filter(({ seq }) => seq !== before?.seq);
  const all = others.reduce((sum, row) => sum + (JSON.parse(row.rules) as unknown[]).length, count);
  if (all > MOST_RULES) throw rulesetFailure('tooMany', { most: MOST_RULES, count: all });
  const size = others.reduce((sum, row) => sum + row.octets, octets);
  if (size > MOST_OCTETS) throw rulesetFailure('tooLarge', { most: MOST_OCTETS, count: size });
  const more = octets - (before?.octets ?? 0);
  if (more > 0) requireRoomFor(ctx, zone.account, 'rules', more);
}

/** What clients write may be a little longer than what is stored. */
const MORE_WRITTEN = 16 * 1024;

/** Throws 403 for rules that are too many or too long, before they are read: that takes far longer. */
export function requireShort(rules: readonly unknown[]): void {
  if (rules.length > MOST_RULES) throw rulesetFailure('tooMany', { most: MOST_RULES, count: rules.length });
  const octets = Buffer.byteLength(JSON.stringify(rules));
  if (octets > MOST_OCTETS + MORE_WRITTEN) throw rulesetFailure('tooLarge', { most: MOST_OCTETS, count: octets });
}

/** The event of a change. Of many rules, it has those that differ. */
export function noteRuleset(
  draft: Draft,
  zone: ZoneRow,
  before: RulesetRow | undefined,
  after: RulesetRow | undefined,
): void {
  const row = (after ?? before)!;
  if (before && after && before.version === after.version) return;
  const kind = !before ? 'ruleset.create' : after ? 'ruleset.edit' : 'ruleset.delete';
  draft.event({
    ...{ kind, zone, id: row.id, name: row.phase },
    ...(before && { before: difference(before, after) }),
    ...(after && { after: difference(after, before) }),
  });
}

function difference(row: RulesetRow, other: RulesetRow | undefined): unknown {
  const known = new Map(parsed(other).map((rule) => [rule.id, JSON.stringify(rule)]));
  const rules = parsed(row);
  const changed = rules.filter((rule) => known.get(rule.id) !== JSON.stringify(rule));
  const shown = shortened(changed.map(withoutSecrets));
  return {
    ...{ id: toHex(row.id), name: row.name, description: row.description, version: row.version },
    ...{ order: rules.map(({ id }) => id), rules: shown },
    ...(shown.length < changed.length && { omitted: changed.length - shown.length }),
  };
}

/** Octets of rules on one side of an event: events are kept by the million, and a set of rules can be changed at every moment. */
const MOST_OF_EVENT = 16 * 1024;

/** Those that are short enough together. */
function shortened(rules: readonly unknown[]): readonly unknown[] {
  let left = MOST_OF_EVENT;
  return rules.filter((rule) => {
    const octets = Buffer.byteLength(JSON.stringify(rule));
    if (octets > left) return false;
    left -= octets;
    return true;
  });
}

/** Fields that prove who one is: more people read events than rules. */
const SECRET = /auth|cookie|key|pass|secret|signature|token/;

function withoutSecrets(rule: { readonly id: string }): unknown {
  const { action_parameters: parameters } = rule as { readonly action_parameters?: { readonly headers?: object } };
  if (!parameters?.headers) return rule;
  const headers = Object.entries(parameters.headers).map(([name, change]) => {
    const hides = SECRET.test(name.toLowerCase()) && change.operation !== 'remove';
    return [name, hides ? { operation: change.operation } : change] as const;
  });
  return { ...rule, action_parameters: { ...parameters, headers: Object.fromEntries(headers) } };
}

function parsed(row: RulesetRow | undefined): { readonly id: string }[] {
  return row ? (JSON.parse(row.rules) as { readonly id: string }[]) : [];
}
