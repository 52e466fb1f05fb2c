/** Writes records as master file text that any server loads and that gives the same zone when imported again. */
import { printName } from '../name.js';
import { printRdata, typeMnemonic } from '../rr/registry.js';
import type { RR } from '../rr.js';

/** One record as a line: absolute owner, TTL in seconds, class, type and data, separated by tabs. */
export function printRecord(record: RR): string {
  const { owner, ttl, type, rdata } = record;
  return `${printName(owner)}\t${ttl}\tIN\t${typeMnemonic(type)}\t${printRdata(type, rdata)}`;
}

/** The attributes of a record that the v4 export adds to the zone data (v4: §7.2). */
export interface RecordAttributes {
  readonly comment: string | null;
  /** `name:value` texts. */
  readonly tags: readonly string[];
  /** undefined for records that cannot be proxied. */
  readonly proxied: boolean | undefined;
  readonly flattenCname: boolean;
  /** The only family of addresses a proxied record answers. */
  readonly family: 'ipv4' | 'ipv6' | undefined;
  /** The TTL is one second; in an export 1 stands for automatic. */
  readonly exactTtl: boolean;
  /** A PTR record is kept for the address. */
  readonly ptr: boolean;
  /** When it ends, as RFC 3339 has it. */
  readonly expires: string | undefined;
}

export const NO_ATTRIBUTES: RecordAttributes = {
  comment: null,
  tags: [],
  proxied: undefined,
  flattenCname: false,
  family: undefined,
  exactTtl: false,
  ptr: false,
  expires: undefined,
};

/** Ours: the vendor has no TTL of one second. */
const EXACT_TTL = 'exact-ttl';

/** Ours, too. */
const KEPT_POINTER = 'ptr';

/** Ours; no name of a tag has an equals sign. */
const EXPIRES = 'expires=';

/** The text after ` ; ` in a v4 export line; empty when there are no attributes (v4: §7.2). */
export function printAttributes(attributes: RecordAttributes): string {
  const { comment, tags, proxied, flattenCname, family, exactTtl, ptr, expires } = attributes;
  const members = tags.map(printTag);
  if (proxied !== undefined) members.push(`cf-proxied:${proxied}`);
  if (flattenCname) members.push('cf-flatten-cname');
  if (family !== undefined) members.push(`${family}-only`);
  if (exactTtl) members.push(EXACT_TTL);
  if (ptr) members.push(KEPT_POINTER);
  if (expires !== undefined) members.push(`${EXPIRES}${expires}`);
  const text = (comment ?? '').replace(/[\r\n]+/g, ' ');
  // If a comment contains the word for tags, an empty list follows, so that the last list is the real one.
  if (members.length === 0 && !text.includes('cf_tags=')) return text;
  const list = `cf_tags=${members.join(',')}`;
  return text === '' ? list : `${text} ${list}`;
}

function printTag(tag: string): string {
  const colon = tag.indexOf(':');
  const value = colon < 0 ? '' : tag.slice(colon + 1);
  if (!/["\s=,\\]/.test(value)) return tag;
  // Readers look for the last occurrence of this word, so a value must not contain it.
  return `${tag.slice(0, colon)}:${JSON.stringify(value).replaceAll('cf_tags=', 'cf_tags\\u003d')}`;
}

/** Parses attributes written after a record; text other than a tag list is the comment. */
export function parseAttributes(text: string): RecordAttributes {
  const at = text.lastIndexOf('cf_tags=');
  const comment = (at < 0 ? text : text.slice(0, at)).trim();
  const tags: string[] = [];
  let proxied: boolean | undefined;
  let flattenCname = false;
  let family: RecordAttributes['family'];
  let exactTtl = false;
  let ptr = false;
  let expires: string | undefined;
  for (const member of at < 0 ? [] : splitMembers(text.slice(at + 8))) {
    if (member === 'cf-proxied:true') proxied = true;
    else if (member === 'cf-proxied:false') proxied = false;
    else if (member === 'cf-flatten-cname') flattenCname = true;
    else if (member === 'ipv4-only') family = 'ipv4';
    else if (member === 'ipv6-only') family = 'ipv6';
    else if (member === EXACT_TTL) exactTtl = true;
    else if (member === KEPT_POINTER) ptr = true;
    else if (member.startsWith(EXPIRES)) expires = member.slice(EXPIRES.length);
    else if (member !== '') tags.push(member);
  }
  return { comment: comment === '' ? null : comment, tags, proxied, flattenCname, family, exactTtl, ptr, expires };
}

/** Splits members at commas; a quoted value is a JSON string. */
function splitMembers(text: string): string[] {
  const members: string[] = [];
  const pattern = /\s*([^,":\s]+)(?::("(?:[^"\\]|\\.)*"|[^,\s]*))?\s*(?:,|$)/y;
  for (let match = pattern.exec(text); match && match[0] !== ''; match = pattern.exec(text)) {
    const value = match[2];
    if (value === undefined) members.push(match[1]!);
    else members.push(`${match[1]}:${value.startsWith('"') ? unquote(value) : value}`);
  }
  return members;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    // The text is not JSON, so it is the literal value.
    return text.slice(1, -1);
  }
}

/** Order of sections in a v4 export: these first, then the other types by name (v4: §7.2). */
const SECTION_ORDER = ['SOA', 'NS', 'A', 'AAAA', 'CAA', 'CNAME'];

export interface ExportRecord extends RR {
  readonly attributes: RecordAttributes;
}

/** All records of one type; read once, so that they need not be in memory at the same time. */
export interface ExportSection {
  readonly type: number;
  readonly records: Iterable<ExportRecord>;
}

const CHUNK_LENGTH = 1 << 16;

/**
 * A zone in the layout of the v4 export, in chunks of lines. `exportedAt`: `2026-01-31 12:00:00`. Sections have the
 * order of {@link compareSections}. TTL 1 stands for automatic.
 */
export function* writeV4Export(
  apex: Uint8Array,
  exportedAt: string,
  sections: Iterable<ExportSection>,
): Generator<string> {
  let chunk = `;;\n;; Domain:     ${printName(apex)}\n;; Exported:   ${exportedAt}\n;;\n;; This file can be imported again. Other name servers read it, too, unless a CNAME stands beside other records.\n;;\n`;
  for (const { type, records } of sections) {
    const mnemonic = typeMnemonic(type);
    chunk += `\n;; ${mnemonic} ${mnemonic === 'SOA' ? 'Record' : 'Records'}\n`;
    for (const record of records) {
      const attributes = printAttributes(record.attributes);
      chunk += attributes === '' ? `${printRecord(record)}\n` : `${printRecord(record)} ; ${attributes}\n`;
      if (chunk.length > CHUNK_LENGTH) {
        yield chunk;
        chunk = '';
      }
    }
  }
  yield chunk;
}

/** Order of sections by their types. */
export function compareSections(a: number, b: number): number {
  const [left, right] = [typeMnemonic(a), typeMnemonic(b)];
  return sectionRank(left) - sectionRank(right) || (left < right ? -1 : left > right ? 1 : 0);
}

function sectionRank(mnemonic: string): number {
  const rank = SECTION_ORDER.indexOf(mnemonic);
  return rank < 0 ? SECTION_ORDER.length : rank;
}
