/** Zones and rulesets that a request names, if its actor may see or change them. */
import { PAGE_RULES, PHASE_FACTS, PHASES, type Phase, phaseOf } from '../../rulesets/phases.js';
import { findRulesetById, type RulesetRow, rulesetAt } from '../../store/edge/rulesets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { parseId, requirePermission, requireZone, targetOfZone } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { decide } from '../guard/decision.js';
import type { Area, Level } from '../guard/permissions.js';
import { isMet } from '../guard/precondition.js';
import type { Context } from '../kernel/context.js';
import { invalid, rulesetFailure } from './errors.js';
import { tagOf } from './item.js';

/** The zone, if the actor sees it; a precondition is about the ruleset. Throws 403 when it may change rules of no phase. */
export function requireRuledZone(ctx: Context, zoneId: string, level: Level): ZoneRow {
  const { store, actor } = ctx;
  const zone = requireZone({ store, actor }, zoneId);
  const isAny = PHASES.some((phase) => decide(actor, areaOf(phase), level, targetOfZone(store, zone)).allowed);
  if (level === 'write' && !isAny) throw accountFailure('outOfScope');
  return zone;
}

/** The kind of rules: a phase, or page rules. */
export type KeptUnder = Phase | typeof PAGE_RULES;

function areaOf(kept: KeptUnder): Area {
  return kept === PAGE_RULES ? 'pageRules' : PHASE_FACTS[kept].area;
}

/** Throws 403 unless the actor may do this with rules of the phase, or with page rules. */
export function requirePhase({ store, actor }: Context, zone: ZoneRow, kept: KeptUnder, level: Level): void {
  requirePermission(actor, areaOf(kept), level, targetOfZone(store, zone));
}

export function mayReadPhase(ctx: Context, zone: ZoneRow, phase: Phase): boolean {
  const decision = decide(ctx.actor, areaOf(phase), 'read', targetOfZone(ctx.store, zone));
  return decision.allowed && !decision.records;
}

/** A phase that a write names; `pointer`: to the member that names it, or empty. */
export function requireKnownPhase(text: unknown, pointer: string): Phase {
  const phase = typeof text === 'string' ? phaseOf(text) : undefined;
  if (phase) return phase;
  const shown = typeof text === 'string' ? `'${text.slice(0, 64)}' is not part of this service` : 'a phase is needed';
  throw invalid(pointer, shown);
}

/** Throws 404 for one of another zone, and 403 unless the actor may do this with it. */
export function requireRuleset(ctx: Context, zone: ZoneRow, rulesetId: string, level: Level): RulesetRow {
  const id = parseId(rulesetId);
  const row = id && findRulesetById(ctx.store, id);
  if (row?.zone !== zone.seq || row.phase === PAGE_RULES) throw rulesetFailure('missing', { id: rulesetId });
  requirePhase(ctx, zone, row.phase as Phase, level);
  if (level === 'write') requireState(ctx, row);
  return row;
}

/** The ruleset of a phase, if there is one. */
export function entrypointOf(ctx: Context, zone: ZoneRow, phase: string): RulesetRow | undefined {
  return rulesetAt(ctx.store, zone.seq, phase);
}

/** Throws 412 unless it is in the state that the request requires. */
export function requireState({ precondition }: Context, row: RulesetRow | undefined): void {
  const tag = row && tagOf(row);
  if (precondition && !isMet(precondition, tag)) throw rulesetFailure('stale', { tag: tag ?? 'none' });
}
