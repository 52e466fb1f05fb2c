/** Parsed records of a zone file → the columns of record rows, at hundreds of thousands a second. Pure. */
import { equalBytes } from '../../base/bytes.js';
import type { Random } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { lowerName, ownerKeyOf, toFqdn } from '../../dns/name.js';
import { typeByCode } from '../../dns/rr/registry.js';
import type { ParsedRecord } from '../../dns/zonefile/parser.js';
import { parseAttributes, type RecordAttributes } from '../../dns/zonefile/writer.js';
import type { ImportedRow } from '../../store/records/import.js';
import { rdataKeyOf } from '../../store/records/records.js';
import { isProxiable, isProxiableType } from '../rules/proxiable.js';
import { commentLength, hasLineBreak, readTags } from '../rules/tags.js';
import { AUTOMATIC } from '../rules/ttl.js';
import type { ControlLimits } from '../write/context.js';

export interface RowMaker {
  rowOf(record: ParsedRecord): ImportedRow;
  /** What could not be kept. */
  readonly issues: readonly Issue[];
}

export interface RowMakerOptions {
  readonly apex: Uint8Array;
  readonly limits: ControlLimits;
  /** Make proxiable records proxied unless the file says otherwise. */
  readonly proxied: boolean;
}

const MAX_ISSUES = 100;
const NONE: RecordAttributes = { comment: null, tags: [], proxied: undefined, flattenCname: false };

export function createRowMaker({ apex, proxied, limits }: RowMakerOptions): RowMaker {
  const issues: Issue[] = [];
  let owner: Uint8Array | undefined;
  let ownerKey: Uint8Array = new Uint8Array(0);
  let name = '';

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
      const attributes = record.comment === undefined ? NONE : readAttributes(record, limits, issues);
      const isProxied = (attributes.proxied ?? proxied) && isProxiable(record.type, rdata);
      const { comment, tags } = attributes;
      return {
        owner_key: ownerKey,
        name,
        type: record.type,
        content: type.contentOf(rdata),
        rdata,
        rdata_key: rdataKeyOf(type.duplicateKey(rdata)),
        ttl: isProxied ? AUTOMATIC : (record.ttl ?? AUTOMATIC),
        proxied: isProxied ? 1 : 0,
        settings: attributes.flattenCname && record.type === Type.cname ? '{"flatten_cname":true}' : null,
        comment,
        tags: tags.length === 0 ? null : JSON.stringify(tags),
      };
    },
  };
}

/** Comment, tags and settings written behind a record (v4: §7.2). What breaks a limit is left out and reported. */
function readAttributes(record: ParsedRecord, limits: ControlLimits, issues: Issue[]): RecordAttributes {
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
  if (parsed.proxied && !isProxiableType(record.type)) report('not-proxiable', 'this type cannot be proxied');
  return { ...parsed, comment, tags: fits ? tags.tags : [] };
}

/** Whether the record is the SOA or an NS of the zone itself. */
export function isApexAuthority(record: ParsedRecord, apex: Uint8Array): boolean {
  const { type, owner } = record;
  if (type !== Type.soa && type !== Type.ns) return false;
  return owner.length === apex.length && equalBytes(lowerName(owner), apex);
}

const RANDOM_POOL = 1 << 16;

/** Takes octets from a pool: asking the system for nine at a time costs more than all the rest of a row. */
export function pooledRandom(random: Random): Random {
  let pool = new Uint8Array(0);
  let at = 0;
  return {
    bytes(count) {
      if (at + count > pool.length) {
        pool = new Uint8Array(random.bytes(RANDOM_POOL));
        at = 0;
      }
      at += count;
      return pool.subarray(at - count, at);
    },
    uuid: () => random.uuid(),
  };
}
