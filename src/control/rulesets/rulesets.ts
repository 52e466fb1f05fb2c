/**
 * Use cases of rulesets of zones (v4: rulesets). Those whose writes shared a commit are answered one after the other, in turns of their
 * own, because the answers may be long.
 */
import { nextSlice } from '../../base/slices.js';
import type { Members } from '../../rulesets/fault.js';
import { type Phase, phaseOf } from '../../rulesets/phases.js';
import { type RulesetRow, removeRuleset, rulesetsOfZone } from '../../store/edge/rulesets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import {
  entrypointOf,
  mayReadPhase,
  requireKnownPhase,
  requirePhase,
  requireRuledZone,
  requireRuleset,
  requireState,
} from './access.js';
import { invalid, rulesetFailure } from './errors.js';
import { type RulesetItem, rulesetItem, rulesOf } from './item.js';
import { type ReadAhead, readAhead, readRules } from './read-rules.js';
import { noteRuleset, writeRuleset } from './write.js';

/** Those of the phases that the actor may read. */
export async function listRulesets(ctx: Context, zoneId: string): Promise<RulesetItem[]> {
  const zone = requireRuledZone(ctx, zoneId, 'read');
  return rulesetsOfZone(ctx.store, zone.seq).flatMap((row) => {
    const phase = phaseOf(row.phase);
    return phase && mayReadPhase(ctx, zone, phase) ? [rulesetItem(row)] : [];
  });
}

export async function getRuleset(ctx: Context, zoneId: string, id: string): Promise<RulesetItem> {
  return rulesetItem(requireRuleset(ctx, requireRuledZone(ctx, zoneId, 'read'), id, 'read'));
}

/** The current version is the only one that is kept. Throws 404 for others. */
export async function getVersion(ctx: Context, zoneId: string, id: string, version: string): Promise<RulesetItem> {
  return inVersion(await getRuleset(ctx, zoneId, id), version);
}

/** The ruleset of a phase. Throws 404 when it was never written, as for every phase that is not part of this service. */
export async function getEntrypoint(
  ctx: Context,
  zoneId: string,
  name: string,
  version?: string,
): Promise<RulesetItem> {
  const zone = requireRuledZone(ctx, zoneId, 'read');
  const phase = phaseOf(name);
  const row = phase && entrypointOf(ctx, zone, phase);
  if (!row) throw rulesetFailure('noEntrypoint', { phase: name.slice(0, 64) });
  requirePhase(ctx, zone, phase, 'read');
  return version === undefined ? rulesetItem(row) : inVersion(rulesetItem(row), version);
}

function inVersion(item: RulesetItem, version: string): RulesetItem {
  if (version === String(item.version)) return item;
  throw rulesetFailure('noVersion', { version: version.slice(0, 20), current: item.version });
}

/** Reads the rules for a write that is allowed. */
async function rulesAhead(
  ctx: Context,
  zoneId: string,
  { rules }: Members,
  phaseIn: (zone: ZoneRow) => Phase,
): Promise<ReadAhead> {
  const zone = requireRuledZone(ctx, zoneId, 'write');
  const phase = phaseIn(zone);
  requirePhase(ctx, zone, phase, 'write');
  return readAhead(ctx, phase, rules);
}

export async function createRuleset(ctx: Context, zoneId: string, input: Members): Promise<RulesetItem> {
  const ahead = await rulesAhead(ctx, zoneId, input, () => requireKnownPhase(input.phase, '/phase'));
  const { value } = await commit(ctx, (draft) => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    const phase = requireKnownPhase(input.phase, '/phase');
    requirePhase(ctx, zone, phase, 'write');
    if (entrypointOf(ctx, zone, phase)) throw rulesetFailure('exists', { phase }, { pointer: '/kind' });
    return replaced(ctx, draft, { zone, phase, before: undefined, input, ahead });
  });
  await nextSlice();
  return value;
}

/** Writes the ruleset of a phase, whether there is one or not. */
export async function putEntrypoint(ctx: Context, zoneId: string, name: string, input: Members): Promise<RulesetItem> {
  const ahead = await rulesAhead(ctx, zoneId, input, () => requireKnownPhase(name, ''));
  const { value } = await commit(ctx, (draft) => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    const phase = requireKnownPhase(name, '');
    requirePhase(ctx, zone, phase, 'write');
    const row = entrypointOf(ctx, zone, phase);
    requireState(ctx, row);
    return replaced(ctx, draft, { zone, phase, before: row, input, ahead });
  });
  await nextSlice();
  return value;
}

export async function replaceRuleset(ctx: Context, zoneId: string, id: string, input: Members): Promise<RulesetItem> {
  const ahead = await rulesAhead(ctx, zoneId, input, (zone) => requireRuleset(ctx, zone, id, 'write').phase as Phase);
  const { value } = await commit(ctx, (draft) => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    const row = requireRuleset(ctx, zone, id, 'write');
    return replaced(ctx, draft, { zone, phase: row.phase as Phase, before: row, input, ahead });
  });
  await nextSlice();
  return value;
}

export async function deleteRuleset(ctx: Context, zoneId: string, id: string): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    const row = requireRuleset(ctx, zone, id, 'write');
    removeRuleset(ctx.store, row.seq);
    noteRuleset(draft, zone, row, undefined);
  });
}

/** Earlier versions are not kept, and the current one is the ruleset. */
export async function deleteVersion(ctx: Context, zoneId: string, id: string, version: string): Promise<never> {
  const { value } = await commit(ctx, (): never => {
    const zone = requireRuledZone(ctx, zoneId, 'write');
    inVersion(rulesetItem(requireRuleset(ctx, zone, id, 'write')), version);
    throw invalid('', 'the current version of a ruleset can only be deleted with the ruleset');
  });
  return value;
}

const SETTABLE = ['name', 'description', 'kind', 'phase', 'rules'];
const READ_ONLY = ['id', 'version', 'last_updated'];

interface Replacing {
  readonly zone: ZoneRow;
  readonly phase: Phase;
  readonly before: RulesetRow | undefined;
  readonly input: Members;
  readonly ahead: ReadAhead;
}

/** Members that are absent stay as they are. */
function replaced(ctx: Context, draft: Draft, { zone, phase, before, input, ahead }: Replacing): RulesetItem {
  const unknown = Object.keys(input).find((member) => !SETTABLE.includes(member) && !READ_ONLY.includes(member));
  if (unknown !== undefined) throw invalid(`/${unknown.slice(0, 64)}`, 'it is not available here');
  const { kind, phase: named, rules } = input;
  if (kind !== undefined && kind !== 'zone') throw invalid('/kind', 'rulesets of zones must be of the kind zone');
  if (named !== undefined && named !== phase) throw invalid('/phase', `the ruleset is of the phase ${phase}`);
  const known = before ? rulesOf(before) : [];
  const row = writeRuleset(ctx, draft, zone, before, {
    phase,
    name: textOf(input, 'name', before?.name ?? 'default'),
    description: textOf(input, 'description', before?.description ?? ''),
    rules:
      rules === undefined || rules === null ? known : readRules(ctx, { phase, now: draft.now }, rules, known, ahead),
  });
  noteRuleset(draft, zone, before, row);
  return rulesetItem(row);
}

const LONGEST_TEXT = 500;

function textOf(input: Members, member: string, usual: string): string {
  const value = input[member];
  if (value === undefined || value === null) return usual;
  if (typeof value === 'string' && value.length <= LONGEST_TEXT) return value;
  throw invalid(`/${member}`, `it must be a text of at most ${LONGEST_TEXT} characters`);
}
