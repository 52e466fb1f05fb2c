/** Use cases of templates: named sets of records with variables. Not part of the v4 API. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import {
  findTemplateById,
  findTemplateByName,
  insertTemplate,
  removeTemplate,
  type TemplateRow,
  templatesOfAccount,
  updateTemplate,
  zonesOfTemplate,
} from '../../store/records/templates.js';
import { findZone } from '../../store/zones/zones.js';
import { maySeeZone, parseId, requireAccount } from '../guard/access.js';
import { isMet } from '../guard/precondition.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { templateFailure } from './errors.js';
import { readTemplate, type Template } from './template.js';

export interface TemplateItem extends Template {
  readonly id: string;
  readonly version: number;
  /** Microseconds since 1970. */
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** A zone to which a template was applied. */
export interface AppliedZone {
  readonly id: string;
  readonly name: string;
  /** Of the template, when it was applied. */
  readonly version: number;
  readonly appliedAt: number;
  readonly values: Readonly<Record<string, string>>;
}

const MOST_TEMPLATES = 200;
/** Zones that are listed. */
const MOST_LISTED = 1000;

export async function listTemplates(ctx: Context, accountId: string): Promise<TemplateItem[]> {
  return templatesOfAccount(ctx.store, requireAccount(ctx, accountId).seq).map(templateItem);
}

export async function getTemplate(ctx: Context, accountId: string, id: string): Promise<TemplateItem> {
  return templateItem(requireTemplate(ctx, accountId, id));
}

/** Those that the actor sees. */
export async function listAppliedZones(ctx: Context, accountId: string, id: string): Promise<AppliedZone[]> {
  const { seq } = requireTemplate(ctx, accountId, id);
  return zonesOfTemplate(ctx.store, seq, MOST_LISTED).flatMap(({ zone, version, applied_at: appliedAt, given }) => {
    const row = findZone(ctx.store, zone)!;
    if (!maySeeZone(ctx.actor, toHex(row.id), accountId)) return [];
    return [{ id: toHex(row.id), name: row.name, version, appliedAt, values: JSON.parse(given) }];
  });
}

/** `raw`: as somebody wrote it. */
export async function createTemplate(ctx: Context, accountId: string, raw: unknown): Promise<TemplateItem> {
  if (ctx.precondition && !isMet(ctx.precondition, undefined)) throw templateFailure('stale', { tag: '' });
  const template = readTemplate(raw);
  const id = makeId(ctx.clock.nowUs(), ctx.random);
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId).seq;
    if (templatesOfAccount(ctx.store, account).length >= MOST_TEMPLATES) {
      throw templateFailure('tooMany', { most: MOST_TEMPLATES });
    }
    requireFreeName(ctx, account, template.name);
    const at = { created_at: draft.now, modified_at: draft.now };
    insertTemplate(ctx.store, { id, account, ...columnsOf(template), version: 1, ...at });
    draft.event({ kind: 'dns_template.create', account, id, name: template.name, after: template });
    return templateItem(findTemplateById(ctx.store, id)!);
  });
  return value;
}

export async function replaceTemplate(
  ctx: Context,
  accountId: string,
  id: string,
  raw: unknown,
): Promise<TemplateItem> {
  const template = readTemplate(raw);
  const { value } = await commit(ctx, (draft) => {
    const row = requireTemplate(ctx, accountId, id);
    if (row.name !== template.name) requireFreeName(ctx, row.account, template.name);
    const after = { ...row, ...columnsOf(template), version: row.version + 1, modified_at: draft.now };
    updateTemplate(ctx.store, after);
    const before = templateOf(row);
    draft.event({
      kind: 'dns_template.edit',
      account: row.account,
      id: row.id,
      name: template.name,
      before,
      after: template,
    });
    return templateItem(after);
  });
  return value;
}

/** Creates a template, or replaces the one of the same name. */
export async function putTemplate(ctx: Context, accountId: string, raw: unknown): Promise<TemplateItem> {
  const { name } = readTemplate(raw);
  const known = findTemplateByName(ctx.store, requireAccount(ctx, accountId).seq, name);
  return known ? replaceTemplate(ctx, accountId, toHex(known.id), raw) : createTemplate(ctx, accountId, raw);
}

/** The records that came from it stay where they are. */
export async function deleteTemplate(ctx: Context, accountId: string, id: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireTemplate(ctx, accountId, id);
    removeTemplate(ctx.store, row.seq);
    const { account, name } = row;
    draft.event({ kind: 'dns_template.delete', account, id: row.id, name, before: templateOf(row) });
    return { id };
  });
  return value;
}

/** The template, if it is of the account and in the state that the request requires. */
export function requireTemplate(ctx: Context, accountId: string, text: string): TemplateRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(text);
  const row = id && findTemplateById(ctx.store, id);
  if (row?.account !== account.seq) throw templateFailure('missing', { id: text.slice(0, 64) });
  if (ctx.precondition && !isMet(ctx.precondition, templateTag(row))) {
    throw templateFailure('stale', { tag: templateTag(row) });
  }
  return row;
}

/** The entity tag of its state. */
export function templateTag({ version }: Pick<TemplateRow, 'version'>): string {
  return `"${version}"`;
}

function requireFreeName({ store }: Context, account: number, name: string): void {
  if (findTemplateByName(store, account, name)) throw templateFailure('exists', { name }, { pointer: '/name' });
}

function columnsOf({ name, description, variables, records }: Template) {
  return { name, description, variables: JSON.stringify(variables), records: JSON.stringify(records) };
}

export function templateOf({ name, description, variables, records }: TemplateRow): Template {
  return { name, description, variables: JSON.parse(variables), records: JSON.parse(records) };
}

function templateItem(row: TemplateRow): TemplateItem {
  const { id, version, created_at: createdAt, modified_at: modifiedAt } = row;
  return { id: toHex(id), ...templateOf(row), version, createdAt, modifiedAt };
}
