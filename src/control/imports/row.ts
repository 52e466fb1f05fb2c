/** Turns parsed records of a zone file into columns of record rows, hundreds of thousands a second. Pure. */
import { equalBytes } from '../../base/bytes.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { lowerName, ownerKeyOf, toFqdn } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import { ONE_SECOND } from '../../dns/ttl.js';
import type { ParsedRecord } from '../../dns/zonefile/parser.js';
import { NO_ATTRIBUTES, parseAttributes, type RecordAttributes } from '../../dns/zonefile/writer.js';
import type { ImportedRow } from '../../store/records/packed-rows.js';
import { type RecordSettings, rdataKeyOf } from '../../store/records/records.js';
import type { ControlLimits } from '../kernel/context.js';
import { parseEnd } from '../rules/instant.js';
import { isAddress } from '../rules/pointers.js';
import { isProxiable, isProxiableType } from '../rules/proxiable.js';
import { commentLength, hasLineBreak, readTags } from '../rules/tags.js';
import { AUTOMATIC } from '../rules/ttl.js';

export interface RowMaker {
  rowOf(record: ParsedRecord): ImportedRow;
  /** What was not kept. */
  readonly issues: readonly Issue[];
}

export interface RowMakerOptions {
  readonly apex: Uint8Array;
  readonly limits: ControlLimits;
  /** Whether proxiable records become proxied unless the file says otherwise. */
  readonly proxied: boolean;
  /** A TTL of 1 stands for automatic, as in exports of v4; elsewhere it is a second. */
  readonly oneIsAutomatic: boolean;
}

const MAX_ISSUES = 100;

export function createRowMaker({ apex, proxied, limits, oneIsAutomatic }: RowMakerOptions): RowMaker {
  const issues: Issue[] = [];
  let owner: Uint8Array | undefined;
  let ownerKey: Uint8Array = new Uint8Array(0);
  let name = '';

  const ttlOf = ({ ttl }: ParsedRecord, { exactTtl }: RecordAttributes): number => {
    if (ttl !== 1) return ttl ?? AUTOMATIC;
    return oneIsAutomatic && !exactTtl ? AUTOMATIC : ONE_SECOND;
  };

  return {
    issues,
    rowOf(record) {
      if (record.owner !== owner) {
        owner = record.owner;
        ownerKey = ownerKeyOf(owner, apex);
        name = toFqdn(owner);
      }
      const { rdata } = record;
      const type = typeByCode(record.type);
      const attributes = record.comment === undefined ? NO_ATTRIBUTES : readAttributes(record, limits, issues);
      const isProxied = (attributes.proxied ?? proxied) && isProxiable(record.type, rdata, limits.origins);
      if (attributes.proxied && !isProxied) reportNotProxied(record, type.contentOf(rdata), issues);
      const { comment, tags } = attributes;
      return {
        owner_key: ownerKey,
        name,
        type: record.type,
        content: type.contentOf(rdata),
        rdata,
        rdata_key: rdataKeyOf(type.duplicateKey(rdata)),
        ttl: isProxied ? AUTOMATIC : ttlOf(record, attributes),
        proxied: isProxied ? 1 : 0,
        settings: settingsOf(record, attributes, isProxied, name),
        comment,
        tags: tags.length === 0 ? null : JSON.stringify(tags),
      };
    },
  };
}

/** `end`: microseconds since 1970. */
type ReadAttributes = RecordAttributes & { readonly end?: number | undefined };

/** The settings that mean something to the type, as JSON; null when there are none. */
function settingsOf(
  { type, flattened }: ParsedRecord,
  { flattenCname, family, ptr, end }: ReadAttributes,
  isProxied: boolean,
  name: string,
): string | null {
  const settings: RecordSettings = {
    ...(isProxiableType(type) && family === 'ipv4' && { ipv4_only: true }),
    ...(isProxiableType(type) && family === 'ipv6' && { ipv6_only: true }),
    ...(ptr && isAddress(type) && !isProxied && !name.startsWith('*.') && { ptr: true }),
    ...(type === Type.cname && (flattenCname || flattened) && { flatten_cname: true }),
    ...(end !== undefined && { expires_at: end }),
  };
  return Object.keys(settings).length === 0 ? null : JSON.stringify(settings);
}

/**
 * Comment, tags and settings written after a record (v4: §7.2). Values that exceed a limit are omitted and reported.
 */
function readAttributes(record: ParsedRecord, limits: ControlLimits, issues: Issue[]): ReadAttributes {
  const text = Buffer.from(record.comment!, 'latin1').toString('utf8');
  const parsed = parseAttributes(text);
  const report = (code: string, message: string): void => {
    if (issues.length >= MAX_ISSUES) return;
    const place = record.file === undefined ? {} : { file: record.file };
    issues.push({ severity: 'warning', code, message, line: record.line, ...place });
  };
  let { comment } = parsed;
  if (comment !== null && (commentLength(comment) > limits.commentLength || hasLineBreak(comment))) {
    report('comment-left-out', `comment is longer than ${limits.commentLength} characters and was left out`);
    comment = null;
  }
  const tags = readTags(parsed.tags);
  const fits = 'tags' in tags && tags.tags.length <= limits.tagsPerRecord;
  if (!fits) report('tags-left-out', 'the tags are not valid and were left out');
  const end = parsed.expires === undefined ? undefined : parseEnd(parsed.expires);
  if (parsed.expires !== undefined && end === undefined) {
    report('end-left-out', 'expires= is not followed by a time such as 2030-01-01T00:00:00Z and was left out');
  }
  return { ...parsed, comment, tags: fits ? tags.tags : [], end };
}

function reportNotProxied({ type, line, file }: ParsedRecord, content: string, issues: Issue[]): void {
  if (issues.length >= MAX_ISSUES) return;
  const message = isProxiableType(type)
    ? `${content} is not proxied: it is not a public address, and allow-networks does not name its network for origins`
    : 'this type cannot be proxied';
  issues.push({ severity: 'warning', code: 'not-proxiable', message, line, ...(file !== undefined && { file }) });
}

/** Whether the record is an SOA or an apex NS of the zone. */
export function isApexAuthority(record: ParsedRecord, apex: Uint8Array): boolean {
  const { type, owner } = record;
  if (type !== Type.soa && type !== Type.ns) return false;
  return owner.length === apex.length && equalBytes(lowerName(owner), apex);
}
