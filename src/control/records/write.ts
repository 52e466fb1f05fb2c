/**
 * Writes single records inside a commit: input → checked row → rules against the owner's other rows → store. Faults are found
 * in the order of Appendix B.4: body, type, name, content, proxied, TTL, comment and tags, coexistence, quota.
 */
import { equalBytes } from '../../base/bytes.js';
import { printIP } from '../../base/ip.js';
import { makeId } from '../../base/random.js';
import { Type } from '../../dns/codes.js';
import { nameEquals, nameOfOwnerKey } from '../../dns/name.js';
import { typeByCode, typeMnemonic } from '../../dns/rr/registry.js';
import { type ApiInput, RdataError, type RRType } from '../../dns/rr/type.js';
import {
  findRecord,
  findSameRecord,
  type NewRecordRow,
  parseSettings,
  parseTags,
  type RecordRow,
  type RecordSettings,
  rdataKeyOf,
  recordsOfOwner,
} from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireRecord } from '../access/access.js';
import { findConflict, findDnssecFault } from '../rules/coexist.js';
import { recordNameIn } from '../rules/names.js';
import { isOwnAddress, isProxiable, isProxiableType } from '../rules/proxiable.js';
import { commentLength, hasLineBreak, readTags } from '../rules/tags.js';
import { AUTOMATIC, readTtl } from '../rules/ttl.js';
import type { Draft } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { badBody } from '../write/errors.js';
import { identicalRecord, recordFailure } from './errors.js';
import { convert, legacyServiceName, type RecordFields, readFields, readSettings, readType } from './input.js';
import { recordItem } from './item.js';

/** Octets an RRset may take in a message, and all TXT data of one name (RFC 1035 §4.2.2; v4: §6.1). */
const MOST_RRSET_OCTETS = 60_000;
const MOST_TXT_OCTETS = 8192;
/** Owner pointer, type, class, TTL and length of one record. */
const RR_OVERHEAD = 12;

/** 'replace' (PUT) returns absent members to their defaults, 'edit' (PATCH) keeps them (v4: §5.3). */
type Mode = 'create' | 'replace' | 'edit';

export type Columns = Omit<
  NewRecordRow,
  'id' | 'created_at' | 'modified_at' | 'comment_modified_at' | 'tags_modified_at'
>;

export function requireRow(ctx: Context, zone: ZoneRow, recordId: string): RecordRow {
  const id = parseId(recordId);
  const row = id && findRecord(ctx.store, zone.seq, id);
  if (!row) throw recordFailure('missing');
  requireRecord(ctx.actor, row.name, typeMnemonic(row.type));
  return row;
}

export function createRow(ctx: Context, draft: Draft, zone: ZoneRow, input: unknown): NewRecordRow {
  const columns = readColumns(ctx, zone, input, 'create', undefined);
  checkNewRow(ctx, draft, zone, columns);
  const row: NewRecordRow = {
    ...columns,
    id: makeId(ctx.clock.nowUs(), ctx.random),
    created_at: draft.now,
    modified_at: draft.now,
    comment_modified_at: columns.comment === null ? null : draft.now,
    tags_modified_at: columns.tags === null ? null : draft.now,
  };
  draft.insertRecord(row);
  draft.audit({ action: 'record.create', zone: zone.id, object: row.id, after: recordItem(row, zone) });
  return row;
}

/** The rules a new record has to keep beside those about its own members: coexistence, then quota. */
export function checkNewRow(ctx: Context, draft: Draft, zone: ZoneRow, columns: Columns): void {
  checkNeighbours(ctx, zone, columns, undefined);
  const quota = ctx.settings.limits.recordsPerZone;
  if (quota !== undefined && draft.recordCount(zone) >= quota) throw recordFailure('quota');
}

/** Whether the owner has a record of the same type and data. */
export function isDuplicate(ctx: Context, columns: Columns): boolean {
  return findSameRecord(ctx.store, columns) !== undefined;
}

/** PUT and PATCH. A change that changes nothing leaves `modified_at` alone (v4: §5.3). */
export function changeRow(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  stored: RecordRow,
  input: unknown,
  mode: 'replace' | 'edit',
): RecordRow {
  const columns = readColumns(ctx, zone, input, mode, stored);
  if (sameColumns(columns, stored)) return stored;
  checkNeighbours(ctx, zone, columns, stored);
  const stamp = (now: string | null, before: string | null, at: number | null): number | null =>
    now === null ? null : now === before ? at : draft.now;
  const row: RecordRow = {
    ...stored,
    ...columns,
    modified_at: draft.now,
    comment_modified_at: stamp(columns.comment, stored.comment, stored.comment_modified_at),
    tags_modified_at: stamp(columns.tags, stored.tags, stored.tags_modified_at),
  };
  draft.updateRecord(stored, row);
  const [before, after] = [recordItem(stored, zone), recordItem(row, zone)];
  draft.audit({ action: `record.${mode}`, zone: zone.id, object: row.id, before, after });
  return row;
}

export function deleteRow(draft: Draft, zone: ZoneRow, stored: RecordRow): void {
  draft.removeRecord(stored);
  draft.audit({ action: 'record.delete', zone: zone.id, object: stored.id, before: recordItem(stored, zone) });
}

function sameColumns(columns: Columns, stored: RecordRow): boolean {
  return Object.entries(columns).every(([column, value]) => {
    const before = stored[column as keyof Columns];
    return value instanceof Uint8Array ? equalBytes(value, before as Uint8Array) : value === before;
  });
}

function readColumns(ctx: Context, zone: ZoneRow, input: unknown, mode: Mode, stored: RecordRow | undefined): Columns {
  const fields = readFields(input);
  const type = chooseType(fields, stored);
  const owner = chooseName(zone, fields, type, stored);
  const value = chooseValue(zone, fields, type, mode, stored);
  if (type.code === Type.cname && nameEquals(value.rdata, nameOfOwnerKey(owner.ownerKey, zone.apex))) {
    throw recordFailure('selfReference', {}, { pointer: '/content' });
  }
  const kept = mode === 'edit' ? stored : undefined;
  const proxied = chooseProxied(ctx, fields, type, value, kept, stored);
  const ttl = chooseTtl(ctx, fields, kept);
  const settings = readSettings(type.mnemonic, fields.settings, kept ? parseSettings(kept.settings) : {});
  return {
    zone: zone.seq,
    owner_key: owner.ownerKey,
    name: owner.name,
    type: type.code,
    content: value.content,
    rdata: value.rdata,
    rdata_key: rdataKeyOf(type.duplicateKey(value.rdata)),
    ttl: proxied ? AUTOMATIC : ttl,
    proxied: proxied ? 1 : 0,
    settings: jsonOrNull(settings),
    comment: chooseComment(ctx, fields, kept),
    tags: chooseTags(ctx, fields, kept),
    private_routing: choosePrivateRouting(fields, type, kept),
  };
}

function jsonOrNull(settings: RecordSettings): string | null {
  return Object.keys(settings).length === 0 ? null : JSON.stringify(settings);
}

function chooseType(fields: RecordFields, stored: RecordRow | undefined): RRType {
  const known = stored && typeByCode(stored.type);
  if (fields.type === undefined) {
    if (!known) throw badBody('type is missing', '/type');
    return known;
  }
  // A record of a type that only imports make keeps it.
  return known?.mnemonic === fields.type.trim().toUpperCase() ? known : readType(fields.type);
}

function chooseName(
  zone: ZoneRow,
  fields: RecordFields,
  type: RRType,
  stored: RecordRow | undefined,
): { readonly name: string; readonly ownerKey: Uint8Array } {
  const sent = (type.code === Type.srv ? legacyServiceName(fields) : undefined) ?? fields.name;
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
  fields: RecordFields,
  type: RRType,
  mode: Mode,
  stored: RecordRow | undefined,
): Value {
  // Clients send an empty `data` with every record, or one for types that have none: it is ignored (v4: §0 rule 9).
  const data = type.data.length > 0 && Object.keys(fields.data ?? {}).length > 0 ? fields.data : undefined;
  // The type checks the priority, whatever was sent: numbers also come as text (v4: §6).
  const sent = { content: fields.content, data, priority: fields.priority } as ApiInput;
  const valued = sent.content !== undefined || sent.data !== undefined;
  if (stored && !valued && sent.priority === undefined && type.code === stored.type) return stored;
  const input = !stored || (valued && mode === 'replace') ? sent : mergeValue(sent, type, stored);
  const value = convert(() => type.fromApi(input, zone.apex));
  requireAgreement(sent, input, type, zone, value);
  return value;
}

/** Refuses a `content` that says something else than the `data` beside it. One that cannot be read says nothing: `data` counts. */
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

/** What was sent over what is stored; `data` member by member, `content` as a whole (v4: §5.3). */
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
  fields: RecordFields,
  type: RRType,
  value: Value,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): boolean {
  const wanted = fields.proxied ?? (kept?.proxied === 1 && isProxiableType(type.code));
  const target = isAddress(type) ? printIP(value.rdata) : value.content;
  if (wanted && !isProxiableType(type.code)) throw recordFailure('notProxiableType', {}, { pointer: '/proxied' });
  if (wanted && !isProxiable(type.code, value.rdata)) {
    throw recordFailure('notProxiableTarget', { target }, { pointer: '/content' });
  }
  const changed = !stored || stored.type !== type.code || !equalBytes(stored.rdata, value.rdata);
  if (changed && isOwnAddress(type.code, value.rdata, ctx.settings.ownAddresses)) {
    throw recordFailure('ownAddress', { target }, { pointer: '/content' });
  }
  return wanted;
}

function isAddress(type: RRType): boolean {
  return type.code === Type.a || type.code === Type.aaaa;
}

function chooseTtl(ctx: Context, fields: RecordFields, kept: RecordRow | undefined): number {
  // A TTL that came with an import may lie outside the limits; sending it back is no change.
  if (kept && (fields.ttl === undefined || fields.ttl === kept.ttl)) return kept.ttl;
  const { minimumTtl: minimum, maximumTtl: maximum } = ctx.settings.limits;
  const result = readTtl(fields.ttl, minimum, maximum);
  if ('ttl' in result) return result.ttl;
  throw recordFailure(result.fault, { minimum, maximum }, { pointer: '/ttl' });
}

function chooseComment(ctx: Context, fields: RecordFields, kept: RecordRow | undefined): string | null {
  const { comment } = fields;
  if (comment === undefined) return kept?.comment ?? null;
  if (comment === null || comment === kept?.comment) return comment;
  if (hasLineBreak(comment)) throw badBody('comment must not contain line breaks', '/comment');
  const maximum = ctx.settings.limits.commentLength;
  if (commentLength(comment) > maximum) throw recordFailure('commentTooLong', { maximum }, { pointer: '/comment' });
  return comment;
}

function chooseTags(ctx: Context, fields: RecordFields, kept: RecordRow | undefined): string | null {
  if (fields.tags === undefined) return kept?.tags ?? null;
  if (kept && JSON.stringify(fields.tags) === JSON.stringify(parseTags(kept.tags))) return kept.tags;
  const result = readTags(fields.tags);
  if (!('tags' in result)) throw recordFailure('badTag', { ...result }, { pointer: '/tags' });
  const quota = ctx.settings.limits.tagsPerRecord;
  const count = result.tags.length;
  if (count > quota) throw recordFailure('tooManyTags', { count, quota }, { pointer: '/tags' });
  return count === 0 ? null : JSON.stringify(result.tags);
}

function choosePrivateRouting(fields: RecordFields, type: RRType, kept: RecordRow | undefined): number | null {
  if (!isProxiableType(type.code)) return null;
  if (fields.privateRouting === undefined) return kept?.private_routing ?? null;
  return fields.privateRouting ? 1 : 0;
}

/** Duplicates, coexistence (v4: §5.9) and what fits one message, against the other rows of the owner. */
function checkNeighbours(ctx: Context, zone: ZoneRow, columns: Columns, stored: RecordRow | undefined): void {
  const rows = recordsOfOwner(ctx.store, zone.seq, columns.owner_key);
  const others = rows.filter((row) => row.seq !== stored?.seq);
  const same = others.filter((row) => row.type === columns.type);
  if (same.some((row) => equalBytes(row.rdata_key, columns.rdata_key))) throw identicalRecord();
  const types = new Set(others.map((row) => row.type));
  const isApex = columns.owner_key.length === 0;
  const moved = !stored || stored.type !== columns.type || !equalBytes(stored.owner_key, columns.owner_key);
  // What an import put side by side stays editable.
  if (moved) {
    const conflict = findConflict(columns.type, isApex, types);
    if (conflict) throw recordFailure(conflict, {}, { pointer: '/name' });
    const reason = findDnssecFault(columns.type, isApex, types);
    if (reason) throw recordFailure('validation', { reason }, { pointer: '/type' });
  }
  checkSize(same, columns);
}

function checkSize(same: readonly RecordRow[], columns: Columns): void {
  const mnemonic = typeByCode(columns.type).mnemonic;
  const most = columns.type === Type.txt ? MOST_TXT_OCTETS : MOST_RRSET_OCTETS;
  const overhead = columns.type === Type.txt ? 0 : RR_OVERHEAD;
  const octets = same.reduce((sum, row) => sum + row.rdata.length + overhead, columns.rdata.length + overhead);
  if (octets > most) {
    const reason = `the ${mnemonic} records of one name may take ${most} octets together, not ${octets}`;
    throw recordFailure('validation', { reason }, { pointer: '/content' });
  }
}
