/** What a template is, and the one check of templates that people write, as JSON or in a YAML file. Pure. */
import { pointingTo } from '../../base/errors.js';
import { badBody } from '../kernel/errors.js';
import type { RecordInput } from '../records/input.js';
import { readType } from '../records/input.js';
import {
  fill,
  fitsPlace,
  type Place,
  partsOf,
  readValue,
  type TemplateVariable,
  VARIABLE_TYPES,
  type VariableType,
  ZONE_VARIABLE,
} from './variables.js';

export interface Template {
  readonly name: string;
  readonly description: string;
  readonly variables: readonly TemplateVariable[];
  readonly records: readonly TemplateRecord[];
}

/** A record as a client would send it; its texts may have variables. */
export type TemplateRecord = Omit<RecordInput, 'expires_on'> & { readonly type: string; readonly name: string };

export const MOST_RECORDS = 200;
export const MOST_VARIABLES = 50;
const LONGEST_DESCRIPTION = 500;
/** In all texts of a template; a TXT record may have 8,192 octets. */
const LONGEST_FIELD = 16_384;
const MOST_OCTETS = 256 * 1024;
/** Characters of all records with values: a short text may name a long value thousands of times. */
const MOST_FILLED = 2 * 1024 * 1024;

const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}])?$/u;
const VARIABLE_NAME = /^[a-z][a-z0-9_]{0,31}$/;
const CONTROL = /\p{Cc}/u;

/** Throws 400 with a pointer to what is wrong. Nothing that is not understood is left out. */
export function readTemplate(raw: unknown): Template {
  const { name, description: text, variables, records } = membersOf(raw, '', TEMPLATE_MEMBERS);
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw badBody('name: 1 to 64 letters, digits, blanks, dots, hyphens and underscores are expected', '/name');
  }
  // Clients send null for what is absent (v4: §0 rule 9).
  const description = text ?? '';
  if (typeof description !== 'string' || description.length > LONGEST_DESCRIPTION || CONTROL.test(description)) {
    throw badBody(`description: one line of up to ${LONGEST_DESCRIPTION} characters is expected`, '/description');
  }
  const known = readVariables(variables ?? []);
  const read = listOf(records, '/records', 1, MOST_RECORDS).map((record, i) =>
    readRecord(record, `/records/${i}`, known),
  );
  const template = { name, description, variables: known, records: read };
  if (JSON.stringify(template).length > MOST_OCTETS) throw badBody(`a template may have ${MOST_OCTETS} octets`);
  return template;
}

const TEMPLATE_MEMBERS = ['name', 'description', 'variables', 'records'];
const VARIABLE_MEMBERS = ['name', 'type', 'default', 'description'];

function membersOf(raw: unknown, pointer: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw badBody('an object is expected', pointer);
  const unknown = Object.keys(raw).find((member) => !known.includes(member));
  if (unknown !== undefined) {
    throw badBody(`${unknown.slice(0, 60)} is not a member here: these are ${known.join(', ')}`, pointer);
  }
  return raw as Readonly<Record<string, unknown>>;
}

function listOf(raw: unknown, pointer: string, least: number, most: number): readonly unknown[] {
  if (Array.isArray(raw) && raw.length >= least && raw.length <= most) return raw;
  throw badBody(`a list of ${least} to ${most} is expected`, pointer);
}

function readVariables(raw: unknown): readonly TemplateVariable[] {
  const names = new Set([ZONE_VARIABLE.name]);
  return listOf(raw, '/variables', 0, MOST_VARIABLES).map((each, i): TemplateVariable => {
    const pointer = `/variables/${i}`;
    const { name, type, default: usual, description: text } = membersOf(each, pointer, VARIABLE_MEMBERS);
    const description = text ?? undefined;
    if (typeof name !== 'string' || !VARIABLE_NAME.test(name)) {
      throw badBody('name: up to 32 lower-case letters, digits and underscores are expected', `${pointer}/name`);
    }
    if (names.has(name)) throw badBody(`there is a variable ${name} already`, `${pointer}/name`);
    names.add(name);
    if (!(VARIABLE_TYPES as readonly unknown[]).includes(type)) {
      throw badBody(`type: one of ${VARIABLE_TYPES.join(', ')} is expected`, `${pointer}/type`);
    }
    if (description !== undefined && (typeof description !== 'string' || description.length > LONGEST_DESCRIPTION)) {
      throw badBody(`description: up to ${LONGEST_DESCRIPTION} characters are expected`, `${pointer}/description`);
    }
    const value = readDefault(type as VariableType, usual, `${pointer}/default`);
    return { name, type: type as VariableType, default: value, description };
  });
}

function readDefault(type: VariableType, raw: unknown, pointer: string): string | undefined {
  if (raw === undefined || raw === null) return undefined;
  const read = readValue(type, String(raw));
  if ('expected' in read) throw badBody(`default: ${read.expected} is expected`, pointer);
  return read.value;
}

type Test = readonly [fits: (value: unknown) => boolean, expected: string];

const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= LONGEST_FIELD;
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'string';
const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
const isFlat = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((each) => isPlain(each) || (Array.isArray(each) && each.every(isText)));

const TEXT: Test = [isText, 'a text'];
const FLAG: Test = [isFlag, 'true or false'];
const NUMBER: Test = [isNumber, 'a number'];
const FLAT: Test = [isFlat, 'an object with texts, numbers, flags and lists of texts'];

const RECORD: Readonly<Record<string, Test>> = {
  ...{ type: TEXT, name: TEXT, content: TEXT, data: FLAT, priority: NUMBER, ttl: NUMBER, proxied: FLAG, comment: TEXT },
  tags: [(value) => Array.isArray(value) && value.length <= 100 && value.every(isText), 'a list of texts'],
  ...{ settings: FLAT, private_routing: FLAG, ptr: FLAG },
};

function readRecord(raw: unknown, pointer: string, variables: readonly TemplateVariable[]): TemplateRecord {
  const members = membersOf(raw, pointer, Object.keys(RECORD));
  // Clients send null for what is absent (v4: §0 rule 9).
  const sent = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  for (const [member, value] of sent) {
    const [fits, expected] = RECORD[member]!;
    if (!fits(value)) throw badBody(`${member}: ${expected} is expected`, `${pointer}/${member}`);
  }
  const record = Object.fromEntries(sent) as unknown as TemplateRecord;
  for (const member of ['type', 'name'] as const) {
    if (record[member] === undefined) throw badBody(`${member} is missing`, `${pointer}/${member}`);
  }
  pointingTo(pointer, () => readType(record.type));
  eachText(record, (text, place, member) => {
    checkText(text, place, `${pointer}/${member}`, variables);
    return text;
  });
  return record;
}

/** The record with each text replaced that may have variables. */
function eachText(
  record: TemplateRecord,
  replace: (text: string, place: Place, member: string) => string,
): TemplateRecord {
  const { name, content, data, comment, tags } = record;
  const inData = (value: unknown, member: string): unknown => {
    if (typeof value === 'string') return replace(value, 'text', member);
    return Array.isArray(value) ? value.map((each) => replace(String(each), 'text', member)) : value;
  };
  const entries = Object.entries(data ?? {}).map(([member, value]) => [member, inData(value, `data/${member}`)]);
  const isWhole = ['TXT', 'SPF'].includes(record.type.trim().toUpperCase());
  return {
    ...record,
    name: replace(name, 'name', 'name'),
    ...(typeof content === 'string' && { content: replace(content, isWhole ? 'text' : 'content', 'content') }),
    ...(data && { data: Object.fromEntries(entries) }),
    ...(typeof comment === 'string' && { comment: replace(comment, 'text', 'comment') }),
    ...(tags && { tags: tags.map((tag, i) => replace(tag, 'text', `tags/${i}`)) }),
  };
}

function checkText(text: string, place: Place, pointer: string, variables: readonly TemplateVariable[]): void {
  const parts = partsOf(text);
  if (!parts) {
    throw badBody('a brace that begins or ends no variable is written twice: {{ and }}', pointer);
  }
  for (const part of parts) {
    if ('text' in part) continue;
    const known = [ZONE_VARIABLE, ...variables].find(({ name }) => name === part.variable);
    if (!known) {
      const names = [ZONE_VARIABLE, ...variables].map(({ name }) => `{${name}}`).join(', ');
      throw badBody(`the template has no variable ${part.variable}: it has ${names}`, pointer);
    }
    if (!fitsPlace(known.type, place)) {
      throw badBody(`{${part.variable}} is of type ${known.type}, which may not stand in a name`, pointer);
    }
  }
}

/** The records of a template with these values. Throws a LeavesField, and 400 where values would make them very long. */
export function filledRecords({ records }: Template, values: ReadonlyMap<string, string>): readonly TemplateRecord[] {
  let room = MOST_FILLED;
  return records.map((record) =>
    eachText(record, (text, place) => {
      const filled = fill(text, place, values, room);
      if (filled === undefined) throw badBody(`with these values, the records have over ${MOST_FILLED} characters`);
      room -= filled.length;
      return filled;
    }),
  );
}
