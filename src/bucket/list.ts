/** Lists of objects by prefix. Keys that share a part up to a delimiter form one group. */
import type { Store } from '../store/driver.js';
import { type EntryTuple, entryTuplesFrom, type ObjectRow, objectsFrom } from '../store/objects/objects.js';
import { objectFailure } from './errors.js';
import { etagOf, objectItem } from './item.js';
import type { ListQuery, ObjectEntry, ObjectPage } from './object-store.js';

/** A position in a list: after a key, or after all keys of a group. */
type Position = { readonly key: string } | { readonly group: string };

/** A page, and the row that says whether there is another one. */
const MOST_AT_ONCE = 1001;

export function listObjects(store: Store, bucket: number, query: ListQuery): ObjectPage {
  const read: Read<ObjectRow> = (from, limit) => objectsFrom(store, bucket, from, limit);
  return store.snapshot(() => listPage(read, objectItem, query));
}

/** The same without metadata, which may be much of what an object is. */
export function listEntries(store: Store, bucket: number, query: ListQuery): Page<ObjectEntry> {
  const read: Read<ObjectEntry> = (from, limit) => entryTuplesFrom(store, bucket, from, limit).map(entryOf);
  return store.snapshot(() => listPage(read, (entry) => entry, query));
}

function entryOf([key, size, md5, parts, storageClass, uploadedAt]: EntryTuple): ObjectEntry {
  return { key, size, etag: etagOf(md5, parts), storageClass, uploadedAt };
}

/** Rows whose keys are at or after `from`, in order. */
type Read<Row> = (from: string, limit: number) => readonly Row[];

interface Page<Item> {
  readonly items: readonly Item[];
  readonly groups: readonly string[];
  /** Undefined on the last page. */
  readonly cursor?: string;
}

function listPage<Row extends { readonly key: string }, Item>(
  read: Read<Row>,
  itemOf: (row: Row) => Item,
  query: ListQuery,
): Page<Item> {
  const { prefix = '', delimiter = '', limit } = query;
  const items: Item[] = [];
  const groups: string[] = [];
  let last = readCursor(query.cursor);
  let from: string | undefined = last === undefined ? prefix : behind(last);
  if (query.startAfter !== undefined) from = later(from, behind({ key: query.startAfter }));
  from = later(from, prefix);
  // One row tells which group comes next; of keys without a group, more and more are read at once.
  let wanted = delimiter === '' ? MOST_AT_ONCE : 1;
  while (from !== undefined) {
    // No more than the page needs.
    wanted = Math.min(wanted, limit + 1 - items.length - groups.length);
    const rows: readonly Row[] = read(from, wanted);
    let group: string | undefined;
    for (const row of rows) {
      if (!row.key.startsWith(prefix)) return { items, groups };
      if (items.length + groups.length === limit) return { items, groups, cursor: makeCursor(last!) };
      group = groupOf(row, prefix, delimiter);
      last = group === undefined ? row : { group };
      if (group !== undefined) break;
      items.push(itemOf(row));
    }
    if (group !== undefined) groups.push(group);
    else if (rows.length < wanted) break;
    from = behind(last!);
    wanted = group === undefined ? Math.min(MOST_AT_ONCE, 2 * wanted) : 1;
  }
  return { items, groups };
}

/** The key up to and including the first delimiter after the prefix; undefined when there is none. */
function groupOf({ key }: { readonly key: string }, prefix: string, delimiter: string): string | undefined {
  if (delimiter === '') return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
}

/** The first possible key behind a position; undefined when there is none. */
function behind(position: Position): string | undefined {
  return 'key' in position ? `${position.key}\0` : behindPrefix(position.group);
}

/** The first possible key behind all that begin with a text. The order of UTF-8 is that of code points. */
function behindPrefix(text: string): string | undefined {
  for (let end = text.length; end > 0; ) {
    const begin = end - (isSecondHalf(text.charCodeAt(end - 1)) ? 2 : 1);
    const point = text.codePointAt(begin)!;
    if (point !== LAST_POINT) {
      return text.slice(0, begin) + String.fromCodePoint(point === BEFORE_SURROGATES ? AFTER_SURROGATES : point + 1);
    }
    end = begin;
  }
  return undefined;
}

/** Whether a code unit ends a pair of surrogates. */
const isSecondHalf = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

const LAST_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The later of two keys; undefined is behind all. */
function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return undefined;
  return isAfter(a, b) ? a : b;
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
