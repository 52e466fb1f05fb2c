/** Variables of templates: their types, and how their values come into the fields of records. Pure. */
import { parseIP, printIP } from '../../base/ip.js';
import { parseHostName } from '../rules/names.js';

export const VARIABLE_TYPES = ['label', 'name', 'ipv4', 'ipv6', 'integer', 'text'] as const;

export type VariableType = (typeof VARIABLE_TYPES)[number];

export interface TemplateVariable {
  readonly name: string;
  readonly type: VariableType;
  /** Absent: a value must be given. */
  readonly default?: string | undefined;
  readonly description?: string | undefined;
}

/** The name of the zone, which every template may use. */
export const ZONE_VARIABLE: TemplateVariable = { name: 'zone', type: 'name' };

/**
 * Where a variable stands: in the name of a record; in content that has parts, such as `10 {host}`; or in what is one text as a
 * whole.
 */
export type Place = 'name' | 'content' | 'text';

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const INTEGER = /^(?:0|[1-9]\d{0,9})$/;
const LARGEST = 2 ** 32 - 1;
const LONGEST_TEXT = 2048;
/** Control characters and separators of lines, and what ends a quoted text in content. */
const UNFIT_IN_TEXT = /[\p{Cc}\p{Zl}\p{Zp}"\\]/u;
/** What separates parts of content. */
const SEPARATES = /[\s;()]/u;

const EXPECTED: Readonly<Record<VariableType, string>> = {
  label: 'one label: up to 63 letters, digits, hyphens and underscores',
  name: 'a host name without a final dot',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  integer: `a whole number up to ${LARGEST}`,
  text: `a text of 1 to ${LONGEST_TEXT} characters without line breaks, quotation marks and backslashes`,
};

/** A value as it is inserted, or what is expected instead. */
export function readValue(
  type: VariableType,
  text: string,
): { readonly value: string } | { readonly expected: string } {
  const value = normalForm(type, text);
  return value === undefined ? { expected: EXPECTED[type] } : { value };
}

function normalForm(type: VariableType, text: string): string | undefined {
  switch (type) {
    case 'label':
      return LABEL.test(text) ? text.toLowerCase() : undefined;
    case 'name':
      return text.endsWith('.') ? undefined : parseHostName(text);
    case 'ipv4':
    case 'ipv6': {
      const address = parseIP(text);
      return address?.length === (type === 'ipv4' ? 4 : 16) ? printIP(address) : undefined;
    }
    case 'integer':
      return INTEGER.test(text) && Number(text) <= LARGEST ? text : undefined;
    case 'text':
      return text !== '' && text.length <= LONGEST_TEXT && !UNFIT_IN_TEXT.test(text) ? text : undefined;
  }
}

/** Whether values of a type may stand somewhere at all. */
export function fitsPlace(type: VariableType, place: Place): boolean {
  return place !== 'name' || type === 'label' || type === 'name' || type === 'integer';
}

/** Part of a text of a template: as it stands, or the name of a variable. */
type Part = { readonly text: string } | { readonly variable: string };

const PARTS = /\{\{|\}\}|\{([a-z][a-z0-9_]{0,31})\}|[{}]|[^{}]+/g;

/** The parts of a text; undefined where a brace stands alone. `{{` and `}}` are braces. */
export function partsOf(text: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  for (const [part, variable] of text.matchAll(PARTS)) {
    if (part === '{' || part === '}') return undefined;
    if (variable !== undefined) parts.push({ variable });
    else parts.push({ text: part === '{{' || part === '}}' ? part.charAt(0) : part });
  }
  return parts;
}

/** A variable whose value would leave the field in which it stands. */
export class LeavesField extends Error {
  constructor(readonly variable: string) {
    super(`the value of ${variable} has blanks, semicolons or parentheses, and stands in content that has parts`);
  }
}

/**
 * Inserts values, which are never looked through for variables. Undefined: the text would be longer than `most`. Throws
 * {@link LeavesField}.
 */
export function fill(
  text: string,
  place: Place,
  values: ReadonlyMap<string, string>,
  most: number,
): string | undefined {
  let filled = '';
  for (const part of partsOf(text) ?? [{ text }]) {
    const value = 'text' in part ? part.text : (values.get(part.variable) ?? '');
    if ('variable' in part && place === 'content' && SEPARATES.test(value)) throw new LeavesField(part.variable);
    filled += value;
    if (filled.length > most) return undefined;
  }
  return filled;
}
