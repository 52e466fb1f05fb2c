/** Between what people type into the form of a record and what is sent. */
import { printTtl, TTLS } from '../../parts/record.js';
import { oneWord } from '../../parts/typed.js';
import { asciiName } from '../../parts/zone.js';
import type { DnsRecord, RecordType } from '../../types.js';
import { isAddress, type RecordBody } from './pending.js';

export interface FormValues {
  readonly type: string;
  /** Relative to the zone; `@` is the zone itself. */
  readonly name: string;
  /** By the name of the member. */
  readonly members: Readonly<Record<string, string>>;
  readonly ttl: number;
  readonly proxied: boolean;
  readonly ptr: boolean;
  /** As its field has it, in the time zone of the reader; empty: never. */
  readonly expires: string;
  readonly comment: string;
  /** One a line. */
  readonly tags: string;
}

/** `www` for `www.example.com` in example.com, `@` for the zone itself. */
export function relativeName(name: string, apex: string): string {
  if (name === apex) return '@';
  return name.endsWith(`.${apex}`) ? name.slice(0, -apex.length - 1) : name;
}

export const EMPTY: FormValues = {
  ...{ type: 'A', name: '', members: {}, ttl: 1, proxied: false, ptr: false, expires: '' },
  ...{ comment: '', tags: '' },
};

export function valuesOf(record: DnsRecord | RecordBody, type: RecordType, apex: string): FormValues {
  const { content, data, priority } = record;
  const member = (name: string, place: string): string => {
    const value = place === 'data' ? data?.[name] : place === 'priority' ? priority : content;
    return value === undefined || value === null ? '' : Array.isArray(value) ? value.join(' ') : String(value);
  };
  return {
    type: record.type,
    name: relativeName(record.name, apex),
    members: Object.fromEntries(type.members.map(({ name, place }) => [name, member(name, place)])),
    ttl: record.ttl,
    proxied: record.proxied,
    ptr: record.ptr === true,
    expires: localTime(record.expires_on ?? null),
    comment: record.comment ?? '',
    tags: record.tags.join('\n'),
  };
}

/** What is sent. Numbers that are none are sent as they were typed: the server says what is wrong with them. */
export function bodyOfValues(values: FormValues, type: RecordType, apex: string): RecordBody {
  const { name, members, ttl, proxied, ptr, expires, comment, tags } = values;
  const at = (place: string) => type.members.filter((member) => member.place === place);
  const data = Object.fromEntries(
    at('data')
      .filter((member) => member.required || members[member.name])
      .map((member) => [member.name, typedValue(member.kind, pastedValue(type, members[member.name] ?? ''))]),
  );
  const priority = at('priority')[0];
  return {
    type: type.type,
    name: ['@', ''].includes(oneWord(name)) ? apex : absoluteName(name, apex),
    ...(at('content').length > 0 && { content: pastedValue(type, members['content'] ?? '') }),
    ...(Object.keys(data).length > 0 && { data }),
    ...(priority && { priority: typedValue('integer', members[priority.name] ?? '') as number }),
    ttl,
    proxied: type.proxiable && proxied,
    ...(isAddress(type.type) && { ptr: ptr && !proxied }),
    expires_on: apiTime(expires),
    comment: comment.trim() === '' ? null : comment,
    tags: tags
      .split('\n')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
  };
}

/** `2030-01-01T12:00:00`, without its seconds when there are none. */
function localTime(at: string | null): string {
  if (at === null) return '';
  const date = new Date(at);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, date.getSeconds() === 0 ? 16 : 19);
}

/** As the API prints it, so that what was not edited is the same. */
function apiTime(local: string): string | null {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, 19)}.000000Z`;
}

function absoluteName(name: string, apex: string): string {
  const plain = oneWord(name).replace(/\.$/, '');
  return isWithin(plain, apex) ? plain : `${plain}.${apex}`;
}

/** In any case and, for zones in other letters, in Unicode, too. */
function isWithin(name: string, apex: string): boolean {
  const ascii = asciiName({ name }).toLowerCase();
  return ascii === apex || ascii.endsWith(`.${apex}`);
}

/** Why a name cannot be meant as it was typed: a final dot says that it is complete (RFC 1035 §5.1). */
export function nameProblem(typed: string, apex: string): string | undefined {
  const name = oneWord(typed);
  if (!/[^.\\]\.$/.test(name) || isWithin(name.slice(0, -1), apex)) return undefined;
  return `${name} is not in this zone. Without the final dot it is ${absoluteName(name, apex)}.`;
}

/** Types whose values are texts: every character of theirs may be meant. */
const TEXTS = new Set(['TXT', 'SPF', 'HINFO', 'CAA', 'URI', 'NAPTR']);

function pastedValue({ type }: RecordType, text: string): string {
  return TEXTS.has(type) ? text : oneWord(text);
}

function typedValue(kind: string, text: string): unknown {
  if (kind !== 'integer' && kind !== 'number') return text;
  const number = Number(text);
  return text.trim() === '' || Number.isNaN(number) ? text : number;
}

/** The usual times to live, and the present one. */
export function ttlChoices(present: number): readonly (readonly [number, string])[] {
  const usual = TTLS.map(([seconds, text]) => [seconds, seconds === 1 ? `${text} (5 minutes)` : text] as const);
  if (TTLS.some(([seconds]) => seconds === present)) return usual;
  return [...usual, [present, printTtl(present)]];
}
