/**
 * Writes single records inside a commit: input → checked row → rules against the owner's other rows → store. Errors are
 * checked in the order of Appendix B.4: body, type, name, content, proxied, TTL, comment and tags, coexistence, quota.
 */
import { isDeepStrictEqual } from 'node:util';
import { equalBytes } from '../../base/bytes.js';
import type { AppError } from '../../base/errors.js';
import { printIP } from '../../base/ip.js';
import { makeId } from '../../base/random.js';
import { Type } from '../../dns/codes.js';
import { typeByCode, typeMnemonic } from '../../dns/rr/registry.js';
import { type ApiInput, RdataError, type RRType } from '../../dns/rr/type.js';
import {
  findRecord,
  type NewRecordRow,
  parseSettings,
  parseTags,
  type RecordRow,
  type RecordSettings,
  rdataKeyOf,
} from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireRecord } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { RecordEdits } from '../kernel/record-edits.js';
import { recordNameIn } from '../rules/names.js';
import { isAddress } from '../rules/pointers.js';
import { isProxiable, isProxiableType } from '../rules/proxiable.js';
import { recordFailure } from '../rules/record-failures.js';
import { commentLength, hasLineBreak, readTags } from '../rules/tags.js';
import { AUTOMATIC, readTtl, shownTtl } from '../rules/ttl.js';
import { chooseEnd } from './choose-end.js';
import { choosePointer } from './choose-pointer.js';
import { convert, legacyServiceName, type RecordInput, readSettings, readType } from './input.js';
import { nameOfRecord, recordItem } from './item.js';
import {
  type Columns,
  checkOthersAtOwner,
  othersAtOwner,
  requireForeignAddress,
  requireOtherName,
  requirePlace,
  requireQuota,
} from './record-rules.js';

/** 'replace' (PUT) returns absent members to their defaults, 'edit' (PATCH) keeps them (v4: §5.3). */
type Mode = 'create' | 'replace' | 'edit';

/** `edits`: those that are under way. */
export function requireRow(ctx: Context, zone: ZoneRow, recordId: string, edits?: RecordEdits): RecordRow {
  const id = parseId(recordId);
  const row = id && (edits ? edits.find(zone, id) : findRecord(ctx.store, zone.seq, id));
  if (!row) throw recordFailure('missing');
  requireRecord(ctx.actor, row.name, typeMnemonic(row.type));
  return row;
}

export function createRow(ctx: Context, edits: RecordEdits, zone: ZoneRow, input: RecordInput): NewRecordRow {
  return addRow(ctx, edits, zone, columnsOfNew(ctx, zone, input));
}

/** The columns of a new record, by the rules about its own members. */
export function columnsOfNew(ctx: Context, zone: ZoneRow, input: RecordInput): Columns {
  return readColumns(ctx, zone, input, 'create', undefined);
}

/** Adds a record whose own members were checked. */
function addRow(ctx: Context, edits: RecordEdits, zone: ZoneRow, columns: Columns): NewRecordRow {
  checkNewRow(ctx, edits, zone, columns);
  return insertRow(ctx, edits, zone, columns);
}

/**
 * The same for what another protocol adds: resolvers can make sense of any neighbours but those of a CNAME, which that protocol
 * judges.
 */
export function addRowBeside(ctx: Context, edits: RecordEdits, zone: ZoneRow, columns: Columns): NewRecordRow {
  requirePlace(ctx, zone, columns, othersAtOwner(edits, zone, columns, undefined), undefined);
  requireQuota(ctx, edits, zone);
  return insertRow(ctx, edits, zone, columns);
}

function insertRow(ctx: Context, edits: RecordEdits, zone: ZoneRow, columns: Columns): NewRecordRow {
  const row: NewRecordRow = {
    ...columns,
    id: makeId(ctx.clock.nowUs(), ctx.random),
    created_at: edits.now,
    modified_at: edits.now,
    comment_modified_at: columns.comment === null ? null : edits.now,
    tags_modified_at: columns.tags === null ? null : edits.now,
  };
  edits.insertRecord(row);
  const after = recordItem(row, zone);
  edits.event({ kind: 'record.create', zone, id: row.id, name: nameOfRecord(after), after });
  return row;
}

/** The rules about the members of a new record, for one from a file: what a client could not create is refused. */
export function checkCreation(ctx: Context, zone: ZoneRow, row: NewRecordRow): void {
  const { type, name, content, data, priority, ttl, proxied } = recordItem(row, zone);
  const value = data === undefined ? { content } : { data };
  readColumns(ctx, zone, { type, name, ...value, priority, ttl, proxied }, 'create', undefined);
}

/** Rules for a new record apart from those about its own members: coexistence, then quota. */
export function checkNewRow(ctx: Context, edits: RecordEdits, zone: ZoneRow, columns: Columns): void {
  checkOthersAtOwner(ctx, edits, zone, columns, undefined);
  requireQuota(ctx, edits, zone);
}

/** Whether the owner already has a record with the same type and data. */
export function isDuplicate(edits: RecordEdits, columns: Columns): boolean {
  return edits.findSame(columns) !== undefined;
}

/** PUT and PATCH. A request that changes nothing leaves `modified_at` unchanged (v4: §5.3). */
export function changeRow(
  ctx: Context,
  edits: RecordEdits,
  zone: ZoneRow,
  stored: RecordRow,
  input: RecordInput,
  mode: 'replace' | 'edit',
): RecordRow {
  const columns = readColumns(ctx, zone, input, mode, stored);
  if (sameColumns(columns, stored)) return stored;
  checkOthersAtOwner(ctx, edits, zone, columns, stored);
  const stamp = (now: string | null, before: string | null, at: number | null): number | null =>
    now === null ? null : now === before ? at : edits.now;
  const row: RecordRow = {
    ...stored,
    ...columns,
    modified_at: edits.now,
    comment_modified_at: stamp(columns.comment, stored.comment, stored.comment_modified_at),
    tags_modified_at: stamp(columns.tags, stored.tags, stored.tags_modified_at),
  };
  edits.updateRecord(stored, row);
  const [before, after] = [recordItem(stored, zone), recordItem(row, zone)];
  edits.event({ kind: `record.${mode}`, zone, id: row.id, name: nameOfRecord(after), before, after });
  return row;
}

export function deleteRow(edits: RecordEdits, zone: ZoneRow, stored: RecordRow): void {
  edits.removeRecord(stored);
  const before = recordItem(stored, zone);
  edits.event({ kind: 'record.delete', zone, id: stored.id, name: nameOfRecord(before), before });
}

function sameColumns(columns: Columns, stored: RecordRow): boolean {
  return Object.entries(columns).every(([column, value]) => {
    const before = stored[column as keyof Columns];
    return value instanceof Uint8Array ? equalBytes(value, before as Uint8Array) : value === before;
  });
}

function readColumns(
  ctx: Context,
  zone: ZoneRow,
  input: RecordInput,
  mode: Mode,
  stored: RecordRow | undefined,
): Columns {
  const type = chooseType(input, stored);
  const owner = chooseName(zone, input, type, stored);
  const value = chooseValue(zone, input, type, mode, stored);
  const isSame = stored !== undefined && value.rdata === stored.rdata && owner.name === stored.name;
  if (!isSame) requireOtherName(zone, type.code, value.rdata, owner.ownerKey);
  const kept = mode === 'edit' ? stored : undefined;
  const proxied = chooseProxied(ctx, input, type, value, kept, stored);
  // Whatever is sent for a proxied record, its TTL is automatic (v4: §5.3).
  const ttl = proxied ? AUTOMATIC : chooseTtl(ctx, input, kept, stored);
  const settings = readSettings(type.mnemonic, input.settings, kept ? parseSettings(kept.settings) : {});
  const ptr = choosePointer(
    ctx,
    zone,
    input,
    { type: type.code, name: owner.name, rdata: value.rdata, proxied, isSame },
    kept,
    stored,
  );
  return {
    zone: zone.seq,
    owner_key: owner.ownerKey,
    name: owner.name,
    type: type.code,
    content: value.content,
    rdata: value.rdata,
    rdata_key: rdataKeyOf(type.duplicateKey(value.rdata)),
    ttl,
    proxied: proxied ? 1 : 0,
    settings: jsonOrNull({ ...settings, ...(ptr && { ptr }), ...chooseEnd(ctx, input, kept, stored) }),
    comment: chooseComment(ctx, input, kept, stored),
    tags: chooseTags(ctx, input, kept, stored),
    private_routing: choosePrivateRouting(input, type, kept),
  };
}

function jsonOrNull(settings: RecordSettings): string | null {
  return Object.keys(settings).length === 0 ? null : JSON.stringify(settings);
}

function chooseType({ type }: RecordInput, stored: RecordRow | undefined): RRType {
  const known = stored && typeByCode(stored.type);
  if (type === undefined || type === null) {
    if (!known) throw badBody('type is missing', '/type');
    return known;
  }
  // A record keeps a type that only imports can create.
  return known?.mnemonic === type.trim().toUpperCase() ? known : readType(type);
}

function chooseName(
  zone: ZoneRow,
  input: RecordInput,
  type: RRType,
  stored: RecordRow | undefined,
): { readonly name: string; readonly ownerKey: Uint8Array } {
  const sent = (type.code === Type.srv ? legacyServiceName(input) : undefined) ?? input.name ?? undefined;
  if (stored && (sent === undefined || sent.toLowerCase() === stored.name)) {
    return { name: stored.name, ownerKey: stored.owner_key };
  }
  if (sent === undefined) throw badBody('name is missing', '/name');
  const name = recordNameIn(sent, zone);
  if (!name) throw recordFailure('badName', {}, { pointer: '/name' });
  return name;
}

interface Value {
  readonly rdata: Uint8Array;
  readonly content: string;
}

function chooseValue(
  zone: ZoneRow,
  input: RecordInput,
  type: RRType,
  mode: Mode,
  stored: RecordRow | undefined,
): Value {
  // Clients send an empty `data` with every record, or a `data` for types without one; it is ignored (v4: §0 rule 9).
  const { content, data = null, priority } = input;
  const sent = {
    content: content ?? undefined,
    data: type.data.length > 0 && Object.keys(data ?? {}).length > 0 ? data : undefined,
    priority: priority ?? undefined,
  } as ApiInput;
  const valued = sent.content !== undefined || sent.data !== undefined;
  // PUT brings the whole record, so a missing value is as wrong as in POST (v4: §5.3).
  const isWhole = mode === 'replace';
  if (stored && type.code === stored.type && (valued || !isWhole) && repeatsValue(sent, stored, mode)) return stored;
  const merged = !stored || isWhole ? sent : mergeValue(sent, type, stored);
  const value = convert(() => type.fromApi(merged, zone.apex));
  requireAgreement(sent, merged, type, zone, value);
  return value;
}

/** Whether nothing was sent that says something else than what is stored. What an import brought may break rules of today. */
function repeatsValue({ content, data, priority }: ApiInput, stored: RecordRow, mode: Mode): boolean {
  const old = typeByCode(stored.type).toApi(stored.rdata, stored.content);
  if (content !== undefined && content !== old.content) return false;
  if (priority !== undefined && priority !== old.priority) return false;
  // PUT returns an absent priority to its default.
  if (mode === 'replace' && content !== undefined && data === undefined && priority !== old.priority) return false;
  return data === undefined || isDeepStrictEqual(data, old.data);
}

/** Refuses a `content` that contradicts `data`. An unparsable `content` is ignored in favour of `data`. */
function requireAgreement(
  sent: ApiInput,
  { priority, data }: ApiInput,
  type: RRType,
  zone: ZoneRow,
  value: Value,
): void {
  if (sent.content === undefined || sent.data === undefined) return;
  const ranked = (priority ?? data?.['priority']) as number | undefined;
  let other: Value;
  try {
    other = type.fromApi({ content: sent.content, priority: ranked }, zone.apex);
  } catch (error) {
    if (error instanceof RdataError) return;
    throw error;
  }
  if (!equalBytes(type.duplicateKey(other.rdata), type.duplicateKey(value.rdata))) {
    throw badBody('content and data contradict each other', '/content');
  }
}

/** Merges the sent value into the stored one: `data` by member, `content` as a whole (v4: §5.3). */
function mergeValue(sent: ApiInput, type: RRType, stored: RecordRow): ApiInput {
  const old = typeByCode(stored.type).toApi(stored.rdata, stored.content);
  const priority = sent.priority ?? (type.code === stored.type ? old.priority : undefined);
  if (sent.content !== undefined && sent.data === undefined) return { content: sent.content, priority };
  if (type.code !== stored.type) {
    return sent.data === undefined ? { content: stored.content, priority } : { data: sent.data, priority };
  }
  if (old.data === undefined) return { content: stored.content, priority };
  const own = 'priority' in old.data && priority !== undefined ? { priority } : {};
  return { data: { ...old.data, ...own, ...sent.data }, priority };
}

function chooseProxied(
  ctx: Context,
  input: RecordInput,
  type: RRType,
  value: Value,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): boolean {
  const wanted = input.proxied ?? (kept?.proxied === 1 && isProxiableType(type.code));
  const target = isAddress(type.code) ? printIP(value.rdata) : value.content;
  if (wanted && !isProxiableType(type.code)) throw recordFailure('notProxiableType', {}, { pointer: '/proxied' });
  const changed = !stored || stored.type !== type.code || !equalBytes(stored.rdata, value.rdata);
  // A stored one stays when the networks become fewer; the edge does not connect to it.
  const isNew = changed || stored.proxied === 0;
  if (wanted && isNew && !isProxiable(type.code, value.rdata, ctx.settings.limits.origins)) {
    throw recordFailure('notProxiableTarget', { target }, { pointer: '/content' });
  }
  if (changed) requireForeignAddress(ctx, type.code, value.rdata);
  return wanted;
}

function chooseTtl(
  ctx: Context,
  input: RecordInput,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): number {
  if (kept && input.ttl === undefined) return kept.ttl;
  // An imported TTL may be outside the limits; sending it back changes nothing.
  if (stored && input.ttl === shownTtl(stored.ttl)) return stored.ttl;
  const { minimumTtl: minimum, maximumTtl: maximum } = ctx.settings.limits;
  const ttl = readTtl(input.ttl, minimum, maximum);
  if (ttl === undefined) throw ttlOutOfRange(ctx);
  return ttl;
}

/** The refusal of a TTL that clients may not set. */
export function ttlOutOfRange({ settings }: Context): AppError {
  const { minimumTtl: minimum, maximumTtl: maximum } = settings.limits;
  return recordFailure('ttlRange', { minimum, maximum }, { pointer: '/ttl' });
}

function chooseComment(
  ctx: Context,
  input: RecordInput,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): string | null {
  const { comment } = input;
  if (comment === undefined) return kept?.comment ?? null;
  if (comment === null || comment === '') return null;
  if (comment === stored?.comment) return comment;
  if (hasLineBreak(comment)) throw badBody('comment must not contain line breaks', '/comment');
  const maximum = ctx.settings.limits.commentLength;
  if (commentLength(comment) > maximum) throw recordFailure('commentTooLong', { maximum }, { pointer: '/comment' });
  return comment;
}

function chooseTags(
  ctx: Context,
  input: RecordInput,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): string | null {
  const sent = input.tags ?? undefined;
  if (sent === undefined) return kept?.tags ?? null;
  if (stored && JSON.stringify(sent) === JSON.stringify(parseTags(stored.tags))) return stored.tags;
  const result = readTags(sent);
  if (!('tags' in result)) throw recordFailure('badTag', { ...result }, { pointer: '/tags' });
  const quota = ctx.settings.limits.tagsPerRecord;
  const count = result.tags.length;
  if (count > quota) throw recordFailure('tooManyTags', { count, quota }, { pointer: '/tags' });
  return count === 0 ? null : JSON.stringify(result.tags);
}

function choosePrivateRouting(input: RecordInput, type: RRType, kept: RecordRow | undefined): number | null {
  if (!isProxiableType(type.code)) return null;
  const sent = input.private_routing ?? undefined;
  if (sent === undefined) return kept?.private_routing ?? null;
  return sent ? 1 : 0;
}
