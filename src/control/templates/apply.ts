/** Use case: a template is applied to zones, one after the other; each gets all of it, or nothing. */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { nextSlice } from '../../base/slices.js';
import {
  findTemplateById,
  findTemplateZone,
  rememberApplied,
  type TemplateRow,
  templateRecords,
  zonesOfTemplate,
} from '../../store/records/templates.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { parseId, permitted, requireAccount, requirePermission, requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { commitEdits } from '../kernel/planned-edits.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { bringInLine, type Difference } from './difference.js';
import { templateFailure } from './errors.js';
import { filledRecords, type Template } from './template.js';
import { requireTemplate, templateOf } from './templates.js';
import { LeavesField, readValue, ZONE_VARIABLE } from './variables.js';

export interface ApplyInput {
  /** Identifiers. Absent: those to which it was applied before, as far as the actor may edit them. */
  readonly zones?: readonly string[] | null | undefined;
  /** Values of variables. Absent ones keep the value that they had in the zone, or have their default. */
  readonly values?: Readonly<Record<string, string | number>> | null | undefined;
  /** Says what would be done, and does nothing. */
  readonly preview?: boolean | null | undefined;
  /** Whether what was edited by hand becomes as the template has it. */
  readonly force?: boolean | null | undefined;
}

export interface AppliedToZone {
  readonly zoneId: string;
  /** Null where the actor does not see the zone. */
  readonly zoneName: string | null;
  readonly status: 'applied' | 'unchanged' | 'preview' | 'failed';
  readonly difference?: Pick<Difference, 'changes' | 'conflicts' | 'unchanged'>;
  /** Why this zone got nothing. */
  readonly error?: AppError;
}

export const MOST_ZONES = 100;

/** A zone that the actor may edit, with what it may do there. */
interface Target {
  readonly ctx: Context;
  readonly zone: ZoneRow;
}

/** `mostTold`: changes and conflicts that are described; of the others, the result has only what kind they are of. */
export async function applyTemplate(
  ctx: Context,
  accountId: string,
  templateId: string,
  input: ApplyInput,
  mostTold: number = Number.POSITIVE_INFINITY,
): Promise<AppliedToZone[]> {
  const { seq: account } = requireAccount(ctx, accountId);
  const zones = input.zones ?? zonesBefore(ctx, account, templateId);
  const targets = new Map(zones.map((id) => [id, targetOf(ctx, account, accountId, id)]));
  if (input.zones && targets.size > MOST_ZONES) throw badBody(`up to ${MOST_ZONES} zones are expected`, '/zones');
  // Whoever may edit none of these zones does not learn whether there is such a template.
  if (![...targets.values()].some(isTarget)) {
    if (input.zones) return [...targets].map(([id, target]) => failed(id, target));
    requirePermission(ctx.actor, 'dns', 'write', { account: accountId, zone: '*' });
  }
  const row = requireTemplate(ctx, accountId, templateId);
  if (!input.zones) {
    if (zones.length > MOST_ZONES) throw templateFailure('tooManyZones', { most: MOST_ZONES }, { pointer: '/zones' });
    for (const [id, target] of targets) if (!isTarget(target)) targets.delete(id);
  }
  const template = templateOf(row);
  const given = readValues(template, input.values ?? {});
  const results: AppliedToZone[] = [];
  let room = mostTold;
  for (const [id, target] of targets) {
    const result = isTarget(target) ? await applyTo(target, row, template, given, input) : failed(id, target);
    results.push(toldOf(result, room));
    const { changes = [], conflicts = [] } = result.difference ?? {};
    room = Math.max(0, room - changes.length - conflicts.length);
    await nextSlice();
  }
  return results;
}

/** A result without details that are not reported, so that a request for many zones does not hold all records of the template for each. */
function toldOf({ difference, ...result }: AppliedToZone, room: number): AppliedToZone {
  if (!difference) return result;
  const { changes, conflicts, unchanged } = difference;
  const told = {
    changes: changes.map((change, i) => (i < room ? change : { action: change.action })),
    conflicts: conflicts.map((conflict, i) => (changes.length + i < room ? conflict : { reason: conflict.reason })),
  };
  return { ...result, difference: { ...told, unchanged } };
}

function isTarget(target: Target | AppError): target is Target {
  return 'zone' in target;
}

function failed(zoneId: string, target: Target | AppError): AppliedToZone {
  return { zoneId, zoneName: null, status: 'failed', ...(!isTarget(target) && { error: target }) };
}

/** The zone, or why the actor may not edit it. */
function targetOf(ctx: Context, account: number, accountId: string, zoneId: string): Target | AppError {
  try {
    const zone = zoneOfAccount(ctx, account, zoneId);
    return { zone, ctx: { ...ctx, actor: permitted(ctx.actor, 'dns', 'write', { account: accountId, zone: zoneId }) } };
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function zoneOfAccount({ precondition: _, ...ctx }: Context, account: number, zoneId: string): ZoneRow {
  const zone = requireZone(ctx, zoneId);
  if (zone.account !== account) throw zoneFailure('missing');
  return zone;
}

/** The zones to which a template was applied, at most one more than are allowed; none if the template does not exist. */
function zonesBefore({ store }: Context, account: number, templateId: string): string[] {
  const id = parseId(templateId);
  const row = id && findTemplateById(store, id);
  if (row?.account !== account) return [];
  return zonesOfTemplate(store, row.seq, MOST_ZONES + 1).map(({ zone }) => toHex(findZone(store, zone)!.id));
}

/** The values that a request gives; throws 400 for unknown variables and for values that do not fit their types. */
function readValues({ variables }: Template, sent: Readonly<Record<string, string | number>>): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, text] of Object.entries(sent)) {
    const pointer = `/values/${name.slice(0, 64)}`;
    const known = variables.find((variable) => variable.name === name);
    if (!known) {
      const names = variables.map((variable) => variable.name).join(', ') || 'none';
      throw badBody(`the template has no variable of this name: it has ${names}`, pointer);
    }
    const read = readValue(known.type, String(text));
    if ('expected' in read) throw badBody(`${name}: ${read.expected} is expected`, pointer);
    values.set(name, read.value);
  }
  return values;
}

/** All values for a zone: given now, or as before, or the default. Throws 400 where there is none. */
function valuesFor(
  { store }: Context,
  { seq }: TemplateRow,
  { variables }: Template,
  given: ReadonlyMap<string, string>,
  zone: ZoneRow,
): Map<string, string> {
  const before = findTemplateZone(store, seq, zone.seq);
  const last = before ? (JSON.parse(before.given) as Record<string, string>) : {};
  const values = new Map<string, string>();
  for (const { name, type, default: usual } of variables) {
    const value = given.get(name) ?? (Object.hasOwn(last, name) ? last[name]! : usual);
    const read = value === undefined ? undefined : readValue(type, value);
    if (!read || 'expected' in read) throw badBody(`the variable ${name} needs a value`, `/values/${name}`);
    values.set(name, read.value);
  }
  return values;
}

async function applyTo(
  { ctx, zone: { id } }: Target,
  row: TemplateRow,
  template: Template,
  given: ReadonlyMap<string, string>,
  { preview, force }: ApplyInput,
): Promise<AppliedToZone> {
  const zoneId = toHex(id);
  const { precondition: _, ...own } = ctx;
  const context: Context = { ...own, ...(preview && { dryRun: true }) };
  const zoneName = zoneOfAccount(context, row.account, zoneId).name;
  try {
    const difference = await commitTo(context, zoneId, row, template, given, force === true);
    const isSame = difference.changes.length === 0;
    return { zoneId, zoneName, status: context.dryRun ? 'preview' : isSame ? 'unchanged' : 'applied', difference };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { zoneId, zoneName, status: 'failed', error };
  }
}

async function commitTo(
  ctx: Context,
  zoneId: string,
  row: TemplateRow,
  template: Template,
  given: ReadonlyMap<string, string>,
  force: boolean,
): Promise<Difference> {
  const { store } = ctx;
  const zone = (): ZoneRow => zoneOfAccount(ctx, row.account, zoneId);
  const { seq } = zone();
  const values = valuesFor(ctx, row, template, given, zone());
  const wanted = wantedFor(template, values, zone());
  const { value } = await commitEdits(ctx, {
    size: wanted.length + templateRecords(store, row.seq, seq).length,
    zone,
    *work(edits, current) {
      const remembered = templateRecords(store, row.seq, seq);
      const difference = yield* bringInLine(ctx, edits, current, { wanted, remembered, force });
      if (difference.changes.length > 0) {
        const after = { values: Object.fromEntries(values), version: row.version };
        edits.event({ kind: 'dns_template.apply', zone: current, id: row.id, name: row.name, after });
      }
      return difference;
    },
    // Inside the write, when the edits are made: the plan of a large one writes nothing.
    read(difference, own) {
      if (!findTemplateById(own.store, row.id)) throw templateFailure('missing', { id: toHex(row.id) });
      const given = JSON.stringify(Object.fromEntries(values));
      const applied = { template: row.seq, zone: seq, given, version: row.version, applied_at: ctx.clock.nowUs() };
      rememberApplied(own.store, applied, difference.remembered);
      return difference;
    },
  });
  return value;
}

function wantedFor(template: Template, values: ReadonlyMap<string, string>, { name }: ZoneRow) {
  try {
    return filledRecords(template, new Map([...values, [ZONE_VARIABLE.name, name]]));
  } catch (error) {
    if (error instanceof LeavesField) throw badBody(error.message, `/values/${error.variable}`);
    throw error;
  }
}
