/** Lists of objects by prefix. Keys that share a part up to a delimiter form one group. */
import type { Store } from '../store/driver.js';
import { type ObjectRow, objectsFrom } from '../store/objects/objects.js';
import { objectFailure } from './errors.js';
import { objectItem } from './item.js';
import type { ListQuery, ObjectItem, ObjectPage } from './object-store.js';

/** A position in a list: after a key, or after all keys of a group. */
type Position = { readonly key: string } | { readonly group: string };

/** Sorts after nearly every key of a group; the few keys beyond it are skipped one by one. */
const HIGHEST = '\u{10ffff}';
const MOST_AT_ONCE = 1000;

export function listObjects(store: Store, bucket: number, query: ListQuery): ObjectPage {
  const { prefix = '', delimiter = '', limit } = query;
  const items: ObjectItem[] = [];
  const groups: string[] = [];
  let last = readCursor(query.cursor);
  let after = last === undefined ? '' : endOf(last);
  if (query.startAfter !== undefined && isAfter(query.startAfter, after)) after = query.startAfter;
  let group = last && 'group' in last ? last.group : undefined;
  for (;;) {
    const wanted = Math.min(MOST_AT_ONCE, limit + 1);
    const rows = objectsFrom(store, bucket, prefix, after, wanted);
    let jumped = false;
    for (const row of rows) {
      if (!row.key.startsWith(prefix)) return { items, groups };
      after = row.key;
      if (group !== undefined && row.key.startsWith(group)) continue;
      if (items.length + groups.length === limit) return { items, groups, cursor: makeCursor(last!) };
      group = groupOf(row, prefix, delimiter);
      if (group === undefined) {
        items.push(objectItem(row));
        last = { key: row.key };
        continue;
      }
      groups.push(group);
      last = { group };
      after = endOf(last);
      jumped = true;
      break;
    }
    if (!jumped && rows.length < wanted) return { items, groups };
  }
}

/** The key up to and including the first delimiter after the prefix; undefined when there is none. */
function groupOf({ key }: ObjectRow, prefix: string, delimiter: string): string | undefined {
  if (delimiter === '') return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
}

function endOf(position: Position): string {
  return 'key' in position ? position.key : position.group + HIGHEST;
}

/** Compares by octets, which is not the order of JavaScript strings. */
function isAfter(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0;
}

function makeCursor(position: Position): string {
  const text = 'key' in position ? `k${position.key}` : `g${position.group}`;
  return Buffer.from(text).toString('base64url');
}

function readCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  if (text.startsWith('k')) return { key: text.slice(1) };
  if (text.startsWith('g')) return { group: text.slice(1) };
  throw objectFailure('badCursor');
}
