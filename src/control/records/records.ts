/** Use cases of records: list, get, create, replace, edit, delete, and batches. */
import { domainToAscii } from '../../dns/idna.js';
import { NameError, ownerKeyOf, parseName } from '../../dns/name.js';
import { TYPES, typeByMnemonic, typeMnemonic } from '../../dns/rr/registry.js';
import { RdataError, type RRType } from '../../dns/rr/type.js';
import { type Condition, joinConditions, matchNothing, type TextOperator } from '../../store/condition.js';
import { matchEnding } from '../../store/records/indexed-settings.js';
import {
  matchComment,
  matchCommentPresence,
  matchContent,
  matchContentPart,
  matchData,
  matchNamePattern,
  matchNameText,
  matchOwner,
  matchProxied,
  matchTags,
  matchTypes,
  matchWord,
  type RecordOrder,
  selectRecords,
  type TagTest,
} from '../../store/records/query.js';
import { type NewRecordRow, type RecordRow, rdataKeyOf } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireWriter, requireZone } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { commitRecords, FEW_EDITS } from '../kernel/commit.js';
import { type Context, type Page, type PageQuery, PageTooLong } from '../kernel/context.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { readAsOf } from '../zones/history.js';
import type { RecordInput } from './input.js';
import { type RecordItem, recordItem, recordItemWithTarget } from './item.js';
import { judgedItem, judgeFor } from './judged.js';
import { createShadows, type ShadowQuery, shadowConditions } from './shadow.js';
import { changeRow, createRow, deleteRow, requireRow } from './write.js';

export type { RecordOrder } from '../../store/records/query.js';
export { applyBatch } from './batch.js';
export type { RecordInput } from './input.js';

/** Conditions on one text; each counts separately for `match`. */
export interface TextFilter {
  readonly exact?: string;
  readonly contains?: string;
  readonly startswith?: string;
  readonly endswith?: string;
}

export interface CommentFilter extends TextFilter {
  readonly present?: boolean;
  readonly absent?: boolean;
}

export interface RecordQuery extends PageQuery, ShadowQuery {
  readonly name?: TextFilter;
  readonly content?: TextFilter;
  /** Mnemonics in any case; an unknown type matches no record. */
  readonly types?: readonly string[];
  readonly proxied?: boolean;
  readonly comment?: CommentFilter;
  readonly tags?: readonly TagTest[];
  /** Only records that expire. */
  readonly ending?: boolean;
  readonly tagMatch?: 'all' | 'any';
  readonly match?: 'all' | 'any';
  readonly search?: string;
  readonly order?: RecordOrder;
  /** Octets of the records of a page; more are refused with {@link PageTooLong}. */
  readonly mostOctets?: number | undefined;
  /** The records as they were at a moment (see as-of.ts). */
  readonly asOf?: string | undefined;
}

const DEFAULT_PER_PAGE = 100;
const MOST_PER_PAGE = 50_000;
const OPERATORS: readonly TextOperator[] = ['exact', 'contains', 'startswith', 'endswith'];
/** The largest number of records in a zone for which every text is compared. */
const LOOKED_THROUGH = 20_000;
/** The largest number of words in a free-text search that are used. */
const MOST_WORDS = 10;

/** Records of a zone that match the query (v4: §5.5). Default 100 a page, at most 50,000. */
export async function listRecords(ctx: Context, zoneId: string, query: RecordQuery): Promise<Page<RecordItem>> {
  const page = Math.max(1, Math.trunc(query.page ?? 1));
  const perPage = Math.min(MOST_PER_PAGE, Math.max(1, Math.trunc(query.perPage ?? DEFAULT_PER_PAGE)));
  const read = ({ store }: Context): Page<RecordItem> => {
    const zone = requireZone({ ...ctx, store }, zoneId);
    const { rows, total } = selectRecords(store, {
      zone: zone.seq,
      zoneCount: zone.record_count,
      match: query.match ?? 'all',
      conditions: conditionsOf(zone, query),
      search: [
        ...scopeConditions(ctx.actor),
        ...shadowConditions(zone, query),
        ...(query.search ?? '').split(/\s+/).filter(Boolean).slice(0, MOST_WORDS).map(wordCondition),
      ],
      order: query.order,
      direction: query.direction ?? 'asc',
      limit: perPage,
      offset: (page - 1) * perPage,
      mnemonic: typeMnemonic,
    });
    if (octetsOf(rows) > (query.mostOctets ?? Number.POSITIVE_INFINITY)) throw new PageTooLong();
    const shadowOf = createShadows(store, zone);
    const judge = judgeFor({ ...ctx, store }, zone);
    const itemOf = (row: RecordRow): RecordItem => {
      const plain = recordItemWithTarget(store, row, zone, ctx.settings.limits.origins);
      const item = judgedItem(plain, row, judge);
      return query.withShadow ? { ...item, shadow: shadowOf(row) } : item;
    };
    return { items: rows.map(itemOf), page, perPage, totalCount: total };
  };
  return query.asOf === undefined ? ctx.store.snapshot(() => read(ctx)) : readAsOf(ctx, zoneId, query.asOf, read);
}

function writtenItem(ctx: Context, row: NewRecordRow, zone: ZoneRow): RecordItem {
  return judgedItem(recordItem(row, zone, ctx.settings.limits.origins), row, judgeFor(ctx, zone));
}

function octetsOf(rows: readonly RecordRow[]): number {
  return rows.reduce((sum, { content, rdata }) => sum + content.length + rdata.length, 0);
}

/** Records outside the actor's scopes are omitted (v4: Appendix B no. 5). */
function scopeConditions({ recordScopes }: Actor): Condition[] {
  if (!recordScopes) return [];
  const scopes = recordScopes.map(({ names, types }) =>
    joinConditions('all', [
      ...(names ? [joinConditions('any', names.map(matchNamePattern))] : []),
      ...(types ? [matchTypes(types.flatMap((type) => typeByMnemonic(type)?.code ?? []))] : []),
    ]),
  );
  return [joinConditions('any', scopes)];
}

function conditionsOf(zone: ZoneRow, query: RecordQuery): Condition[] {
  const conditions: Condition[] = [];
  const types = query.types?.map((text) => typeByMnemonic(text.trim())).filter((type) => type !== undefined);
  for (const operator of OPERATORS) {
    const name = query.name?.[operator];
    if (name !== undefined) conditions.push(nameCondition(zone, operator, name));
    const content = query.content?.[operator];
    if (content !== undefined) conditions.push(contentCondition(zone, operator, content, types));
    const comment = query.comment?.[operator];
    if (comment !== undefined) conditions.push(matchComment(operator, comment));
  }
  if (types) conditions.push(matchTypes(types.map(({ code }) => code)));
  if (query.proxied !== undefined) conditions.push(matchProxied(query.proxied));
  if (query.comment?.present) conditions.push(matchCommentPresence(true));
  if (query.comment?.absent) conditions.push(matchCommentPresence(false));
  if (query.ending) conditions.push(matchEnding());
  if (query.tags && query.tags.length > 0) {
    conditions.push(matchTags(query.tagMatch ?? 'all', query.tags));
  }
  return conditions;
}

function nameCondition(zone: ZoneRow, operator: TextOperator, value: string): Condition {
  const text = value.trim();
  if (operator !== 'exact') return matchNameText(operator, domainToAscii(text) ?? text);
  const name = domainToAscii(text.replace(/\.$/, ''))?.toLowerCase();
  if (name === undefined || (name !== zone.name && !name.endsWith(`.${zone.name}`))) return matchNothing();
  try {
    return matchOwner(ownerKeyOf(parseName(`${name}.`), zone.apex));
  } catch (error) {
    if (error instanceof NameError) return matchNothing();
    throw error;
  }
}

/**
 * Equality is the same as for duplicates: any spelling of the same data (Appendix B.2); parts are searched in the text.
 */
function contentCondition(
  zone: ZoneRow,
  operator: TextOperator,
  value: string,
  types: readonly RRType[] | undefined,
): Condition {
  if (operator !== 'exact') return matchContentPart(operator, value);
  // Comparing the text helps with case and with types that have no spelling of their own; comparing every text takes
  // too long here.
  if (zone.record_count > LOOKED_THROUGH)
    return matchData((types ?? TYPES).flatMap((type) => dataKey(type, value, zone)));
  const collapsed = value.trim().replace(/[ \t]+/g, ' ');
  return joinConditions('any', [
    matchContent(value),
    matchContent(collapsed === '.' ? collapsed : collapsed.replace(/\.$/, '')),
    matchData((types ?? TYPES.filter(({ creatable }) => creatable)).flatMap((type) => dataKey(type, value, zone))),
  ]);
}

function dataKey(type: RRType, content: string, zone: ZoneRow): { type: number; rdataKey: Uint8Array }[] {
  try {
    const { rdata } = type.fromApi({ content }, zone.apex);
    return [{ type: type.code, rdataKey: rdataKeyOf(type.duplicateKey(rdata)) }];
  } catch (error) {
    if (error instanceof RdataError) return [];
    throw error;
  }
}

function wordCondition(word: string): Condition {
  const needle = word.toUpperCase();
  return matchWord(
    word,
    TYPES.filter(({ mnemonic }) => mnemonic.includes(needle)).map(({ code }) => code),
  );
}

/** `asOf`: as it was at a moment (see as-of.ts). */
export async function getRecord(
  ctx: Context,
  zoneId: string,
  recordId: string,
  { asOf, withShadow = false }: { readonly asOf?: string | undefined; readonly withShadow?: boolean | undefined } = {},
): Promise<RecordItem> {
  const read = (at: Context): RecordItem => {
    const zone = requireZone(at, zoneId);
    const row = requireRow(at, zone, recordId);
    const plain = recordItemWithTarget(at.store, row, zone, at.settings.limits.origins);
    const item = judgedItem(plain, row, judgeFor(at, zone));
    return withShadow ? { ...item, shadow: createShadows(at.store, zone)(row) } : item;
  };
  return asOf === undefined ? read(ctx) : readAsOf(ctx, zoneId, asOf, read);
}

export async function createRecord(ctx: Context, zoneId: string, input: RecordInput): Promise<RecordItem> {
  return commitRecord(ctx, zoneId, labelsOf(input.name), (edits, zone) => createRow(ctx, edits, zone, input));
}

/** PUT: absent members return to their defaults (v4: §5.3). */
export async function replaceRecord(
  ctx: Context,
  zoneId: string,
  recordId: string,
  input: RecordInput,
): Promise<RecordItem> {
  return changeRecord(ctx, zoneId, recordId, input, 'replace');
}

/** PATCH: absent members stay unchanged (v4: §5.3). */
export async function editRecord(
  ctx: Context,
  zoneId: string,
  recordId: string,
  input: RecordInput,
): Promise<RecordItem> {
  return changeRecord(ctx, zoneId, recordId, input, 'edit');
}

async function changeRecord(
  ctx: Context,
  zoneId: string,
  recordId: string,
  input: RecordInput,
  mode: 'replace' | 'edit',
): Promise<RecordItem> {
  const labels = labelsOf(input.name) + labelsOfRecord(ctx, zoneId, recordId);
  return commitRecord(ctx, zoneId, labels, (edits, zone) =>
    changeRow(ctx, edits, zone, requireRow(ctx, zone, recordId, edits), input, mode),
  );
}

/** Returns the deleted record. */
export async function deleteRecord(ctx: Context, zoneId: string, recordId: string): Promise<RecordItem> {
  const remove: SingleEdit = (edits, zone) => {
    const row = requireRow(ctx, zone, recordId, edits);
    deleteRow(edits, zone, row);
    return row;
  };
  return commitRecord(ctx, zoneId, labelsOfRecord(ctx, zoneId, recordId), remove, (row, zone) =>
    recordItem(row, zone, ctx.settings.limits.origins),
  );
}

type SingleEdit = (edits: RecordEdits, zone: ZoneRow) => NewRecordRow;

/**
 * Edits one record. `labels`: of its names; one of very many may make a name of each label, with a record that denies others, and is
 * planned before the write.
 */
async function commitRecord(
  ctx: Context,
  zoneId: string,
  labels: number,
  edit: SingleEdit,
  itemOf = (row: NewRecordRow, zone: ZoneRow): RecordItem => writtenItem(ctx, row, zone),
): Promise<RecordItem> {
  if (labels <= FEW_EDITS) {
    const { value } = await commitRecords(ctx, (draft) => {
      const zone = requireZone(ctx, zoneId);
      return itemOf(edit(draft, zone), zone);
    });
    return value;
  }
  const { commitEdits } = await import('../kernel/planned-edits.js');
  const { value } = await commitEdits(ctx, {
    size: labels,
    zone: () => requireZone(ctx, zoneId),
    // biome-ignore lint/correctness/useYield: one record is one step
    *work(edits, zone) {
      return { row: edit(edits, zone), zone };
    },
    read: ({ row, zone }) => itemOf(row, zone),
  });
  return value;
}

/** At most so many. */
function labelsOf(name: string | null | undefined): number {
  return name?.split('.').length ?? 0;
}

function labelsOfRecord(ctx: Context, zoneId: string, recordId: string): number {
  requireWriter(ctx.actor);
  return labelsOf(requireRow(ctx, requireZone(ctx, zoneId), recordId).name);
}
