/** Dictionaries of structured fields (RFC 9651 §3.2), as far as directives use them. */

/** Values of a directive's item. Strings and tokens are distinguished from numbers; parameters are skipped. */
export type BareItem =
  | { readonly type: 'integer' | 'decimal'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'other' };

const KEY = /[a-z*][a-z0-9_\-.*]*/y;
const NUMBER = /-?\d{1,15}(?:\.\d{1,3})?/y;
const BOOLEAN = /\?[01]/y;
const STRING = /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y;
const TOKEN = /[A-Za-z*][!#$%&'*+\-.^_`|~\w:/]*/y;
const BYTES = /:[A-Za-z0-9+/=]*:/y;
const SPACE = / */y;
const COMMA = /[ \t]*,[ \t]*/y;

interface Cursor {
  readonly text: string;
  at: number;
}

/**
 * Items by key; the last one of a repeated key wins. Undefined for an invalid dictionary, which is ignored completely.
 */
export function parseDictionary(text: string): ReadonlyMap<string, BareItem> | undefined {
  const cursor: Cursor = { text: text.trim(), at: 0 };
  const items = new Map<string, BareItem>();
  while (cursor.at < cursor.text.length) {
    const key = take(cursor, KEY);
    if (key === undefined) return undefined;
    const item: BareItem | undefined = takeText(cursor, '=') ? readItem(cursor) : { type: 'boolean', value: true };
    if (item === undefined || !skipParameters(cursor)) return undefined;
    items.delete(key);
    items.set(key, item);
    if (cursor.at === cursor.text.length) break;
    // Nothing follows a trailing comma (§4.2.2).
    if (take(cursor, COMMA) === undefined || cursor.at === cursor.text.length) return undefined;
  }
  return items;
}

function readItem(cursor: Cursor): BareItem | undefined {
  const number = take(cursor, NUMBER);
  if (number !== undefined) return { type: number.includes('.') ? 'decimal' : 'integer', value: Number(number) };
  const boolean = take(cursor, BOOLEAN);
  if (boolean !== undefined) return { type: 'boolean', value: boolean === '?1' };
  const other = take(cursor, STRING) ?? take(cursor, TOKEN) ?? take(cursor, BYTES);
  return other === undefined ? undefined : { type: 'other' };
}

function skipParameters(cursor: Cursor): boolean {
  while (takeText(cursor, ';')) {
    take(cursor, SPACE);
    if (take(cursor, KEY) === undefined) return false;
    if (takeText(cursor, '=') && readItem(cursor) === undefined) return false;
  }
  return true;
}

function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  if (found !== undefined) cursor.at += found.length;
  return found;
}

function takeText(cursor: Cursor, text: string): boolean {
  if (!cursor.text.startsWith(text, cursor.at)) return false;
  cursor.at += text.length;
  return true;
}
