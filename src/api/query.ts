/**
 * Query strings in all the forms that clients send (v4: §1.4): `name.contains=x` and `name[contains]=x`, repeated keys
 * and comma lists, `tag_match` and `tag-match`. Parsed once into one form: dots, underscores, all values in order.
 */
import { parseInstant } from '../control/rules/instant.js';
import { failure } from './errors.js';

/** Parameter name → its values in order; never an empty list. */
export type Query = Readonly<Record<string, readonly string[]>>;

/** Parses the text after the question mark. Malformed percent escapes stay unchanged. */
export function parseQuery(text: string): Query {
  const query: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const key = plainName(name);
    const values = query[key];
    if (values) values.push(value);
    else query[key] = [value];
  }
  return query;
}

/** `name[contains]` → `name.contains`, `type[]` and `type[0]` → `type`, `tag-match` → `tag_match`. */
function plainName(name: string): string {
  return name
    .replace(/\[\d*\]/g, '')
    .replace(/\[([^\]]*)\]/g, '.$1')
    .replaceAll('-', '_');
}

export function firstValue(query: Query, name: string): string | undefined {
  return query[name]?.[0];
}

/** The first value; undefined when the parameter is missing or empty, because an empty filter has no effect. */
export function textValue(query: Query, name: string): string | undefined {
  return firstValue(query, name) || undefined;
}

/** Whether the parameter is present, with or without a value (v4: §1.4, `comment.present=`). */
export function isPresent(query: Query, name: string): boolean {
  return query[name] !== undefined;
}

/** All values of a list parameter, repeated or separated by commas; empty when there is none. */
export function listValues(query: Query, name: string): string[] {
  return (query[name] ?? [])
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** The largest number of values of one filter. */
const MOST_VALUES = 100;

/** All values of a filter. Throws 400 for too many: without some of them, it would show what was not asked for. */
export function filterValues(query: Query, name: string): string[] {
  const values = listValues(query, name);
  if (values.length > MOST_VALUES) throw failure('badParameter', { name, expected: `at most ${MOST_VALUES} values` });
  return values;
}

/** A value of an enumeration in any case. Throws 400 for any other value. */
export function choiceValue<Choice extends string>(
  query: Query,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = textValue(query, name);
  if (text === undefined) return undefined;
  return requireChoice(name, text, choices);
}

/** All values of a list parameter, each from an enumeration. Throws 400 for any other value. */
export function choiceValues<Choice extends string>(query: Query, name: string, choices: readonly Choice[]): Choice[] {
  return listValues(query, name).map((text) => requireChoice(name, text, choices));
}

function requireChoice<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((candidate) => candidate === text.toLowerCase());
  if (choice === undefined) throw failure('badParameter', { name, expected: `one of ${choices.join(', ')}` });
  return choice;
}

/**
 * A switch: true when present without a value (`?dry_run`). Throws 400 for texts that {@link flagValue} does not
 * accept.
 */
export function switchValue(query: Query, name: string): boolean | undefined {
  return firstValue(query, name) === '' ? true : flagValue(query, name);
}

/** A boolean. Throws 400 for texts other than `true`, `false`, `1`, `0`. */
export function flagValue(query: Query, name: string): boolean | undefined {
  const text = textValue(query, name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw failure('badParameter', { name, expected: 'true or false' });
}

/** A whole number. Throws 400 for other texts. */
export function numberValue(query: Query, name: string, least: number, most: number): number | undefined {
  const text = textValue(query, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= least && value <= most) return value;
  throw failure('badParameter', { name, expected: `a whole number from ${least} to ${most}` });
}

/** Microseconds since 1970; a date means its first instant. Throws 400 for anything else. */
export function timeValue(query: Query, name: string): number | undefined {
  const text = textValue(query, name);
  if (text === undefined) return undefined;
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant !== undefined) return instant;
  throw failure('badParameter', { name, expected: 'a time such as 2026-05-05T12:00:00Z, or a date' });
}
