/**
 * Lists of records: the v4 filters as SQL (v4: §5.5, Appendix B). Filter conditions are joined by `match`; the zone and
 * search conditions always apply.
 */
import {
  type Condition,
  defineTextFunctions,
  joinConditions,
  matchNothing,
  matchText,
  type TextOperator,
} from '../condition.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { byOwner, isShadowed } from './owner-index.js';
import { keepsRanks, recordsFrom } from './ranks.js';
import { COLUMNS_OF_ZONE, type RecordRow, SET_OF_ZONE, typesOfZone } from './records.js';

/** `canonical`: by owner as RFC 4034 §6.1 has it, the apex first; `name` compares names as text. */
export type RecordOrder = 'type' | 'name' | 'canonical' | 'content' | 'ttl' | 'proxied';

export interface RecordSelection {
  /** Store number. */
  readonly zone: number;
  /** Number of all records in the zone. */
  readonly zoneCount: number;
  readonly match: 'all' | 'any';
  readonly conditions: readonly Condition[];
  /** Conditions that always apply. */
  readonly search: readonly Condition[];
  readonly order: RecordOrder | undefined;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** Mnemonics by type number, for sorting by type. */
  readonly mnemonic: (type: number) => string;
}

/**
 * Up to this many records, the default order is by name as text. Larger zones are paged in canonical order (RFC 4034
 * §6.1), which the index provides; sorting them for every page would take seconds.
 */
export const SORTED_BY_TEXT = 20_000;

/** Up to this many matching records are sorted; more are read in index order. */
const FEW = 5000;

const TXT = 16;

/** Decodes TXT rdata to text, as an SQL function. */
const defineTxtText = perStore((store) => {
  store.defineFunction('txt_text', (rdata) => (rdata instanceof Uint8Array ? joinStrings(rdata) : null));
  return true;
});

/** The character strings of TXT rdata, joined and read as UTF-8. */
function joinStrings(rdata: Uint8Array): string {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < rdata.length; at += 1 + rdata[at]!) parts.push(rdata.subarray(at + 1, at + 1 + rdata[at]!));
  return Buffer.concat(parts).toString('utf8');
}

/** One page of the matching records, and the number of all matches. */
export function selectRecords(store: Store, selection: RecordSelection): { rows: RecordRow[]; total: number } {
  const where = whereOf(selection);
  defineTextFunctions(store);
  defineTxtText(store);
  defineTagFunction(store);
  if (!where) return allOfZone(store, selection);
  // Without an indexed condition, the rows are read in the order in which they are stored.
  const source = where.indexed ? 'record_rows' : `record_rows ${byOwner(store)}`;
  const first = store
    .prepareTuples<SqlValue[], [number]>(`SELECT seq FROM ${source} WHERE ${where.sql} LIMIT ${FEW + 1}`)
    .all(...where.params);
  if (first.length <= FEW) return sorted(store, selection, first);
  const count = store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) FROM ${source} WHERE ${where.sql}`);
  return inOrder(store, selection, where, count.get(...where.params)![0]);
}

function allOfZone(store: Store, selection: RecordSelection): { rows: RecordRow[]; total: number } {
  const { zone, zoneCount: total, offset, limit, direction } = selection;
  const length = Math.min(limit, total - offset);
  if (offset < FEW || length <= 0 || !followsIndex(selection) || !keepsRanks(store)) {
    return inOrder(store, selection, inZone(zone), total);
  }
  if (direction === 'asc') return { rows: recordsFrom(store, zone, offset, length), total };
  return { rows: recordsFrom(store, zone, total - offset - length, length).reverse(), total };
}

/** Many matches are found soon enough in owner order. */
function inOrder(
  store: Store,
  selection: RecordSelection,
  { sql, params }: Condition,
  total: number,
): { rows: RecordRow[]; total: number } {
  if (selection.offset >= total || selection.limit === 0) return { rows: [], total };
  const order = orderIn(store, selection);
  const page = `WHERE ${sql} ORDER BY ${order} LIMIT ? OFFSET ?`;
  const source = `record_rows ${byOwner(store)}`;
  // Sorting moves all columns of every row. Of their numbers it is several times as fast, but a past state would be made twice.
  const among =
    followsIndex(selection) || isShadowed(store)
      ? `${source} ${page}`
      : `record_rows WHERE seq IN (SELECT seq FROM ${source} ${page}) ORDER BY ${order}`;
  const rows = store.prepare<SqlValue[], RecordRow>(`SELECT ${COLUMNS_OF_ZONE} FROM ${among}`);
  return { rows: rows.all(selection.zone, ...params, selection.limit, selection.offset), total };
}

/** Whether the index of owners has the order. */
function followsIndex({ order, zoneCount }: Pick<RecordSelection, 'order' | 'zoneCount'>): boolean {
  return order === 'canonical' || (order === undefined && zoneCount > SORTED_BY_TEXT);
}

function sorted(
  store: Store,
  selection: RecordSelection,
  found: readonly (readonly [seq: number])[],
): { rows: RecordRow[]; total: number } {
  const total = found.length;
  if (selection.offset >= total || selection.limit === 0) return { rows: [], total };
  const among = `SELECT ${COLUMNS_OF_ZONE} FROM record_rows WHERE seq IN (SELECT value FROM json_each(?))`;
  const rows = store.prepare<SqlValue[], RecordRow>(`${among} ORDER BY ${orderIn(store, selection)} LIMIT ? OFFSET ?`);
  const numbers = JSON.stringify(found.map(([seq]) => seq));
  return { rows: rows.all(selection.zone, numbers, selection.limit, selection.offset), total };
}

function orderIn(store: Store, selection: RecordSelection): string {
  const { order, zone } = selection;
  const needsTypes = order !== undefined && order !== 'canonical' && order !== 'content';
  return orderOf(selection, needsTypes ? typesOfZone(store, zone) : []);
}

/** Matches the records of a zone. */
function inZone(zone: number): Condition {
  return { sql: `record_set = ${SET_OF_ZONE}`, params: [zone] };
}

/** Undefined when every record of the zone matches. */
function whereOf({ zone, match, conditions, search }: RecordSelection): Condition | undefined {
  if (conditions.length === 0 && search.length === 0) return undefined;
  const all = [inZone(zone), ...search];
  if (conditions.length > 0) all.push(joinConditions(match, conditions));
  return joinConditions('all', all);
}

function orderOf(selection: RecordSelection, types: readonly number[]): string {
  const { order, direction, mnemonic } = selection;
  const byType = `CASE type ${types.map((type) => `WHEN ${type} THEN '${mnemonic(type)}'`).join(' ')} ELSE '' END`;
  const ties = types.length > 0 ? `name, ${byType}, id` : 'name, type, id';
  if (followsIndex(selection)) return `owner_key ${direction}, type ${direction}, rdata_key ${direction}`;
  switch (order) {
    case 'name':
      return `name ${direction}, ${types.length > 0 ? byType : 'type'}, id`;
    case 'type':
      return types.length > 0 ? `${byType} ${direction}, name, id` : 'name, id';
    case 'content':
    case 'ttl':
    case 'proxied':
      return `${order} ${direction}, ${ties}`;
    default:
      return `name ${direction}, type, id`;
  }
}

export function matchOwner(ownerKey: Uint8Array): Condition {
  return { sql: 'owner_key = ?', params: [ownerKey], indexed: true };
}

/** All records except one RRset. */
export function matchOutsideSet(ownerKey: Uint8Array, type: number): Condition {
  return { sql: 'NOT (owner_key = ? AND type = ?)', params: [ownerKey, type] };
}

/** Matches the name as text. */
export function matchNameText(operator: TextOperator, value: string): Condition {
  return matchText('name', operator, value);
}

/** Matches the whole content as the API shows it. */
export function matchContent(value: string): Condition {
  return matchText('content', 'exact', value);
}

export function matchComment(operator: TextOperator, value: string): Condition {
  return matchText('comment', operator, value);
}

/** Matches owner keys from `from` up to, but not including, `to`. */
export function matchOwnerRange(from: Uint8Array, to: Uint8Array): Condition {
  return { sql: 'owner_key >= ? AND owner_key < ?', params: [from, to], indexed: true };
}

export function matchTypes(types: readonly number[]): Condition {
  return types.length === 0 ? matchNothing() : { sql: `type IN (${types.join(', ')})`, params: [], indexed: true };
}

export function matchProxied(proxied: boolean): Condition {
  return { sql: 'proxied = ?', params: [proxied ? 1 : 0] };
}

/**
 * Matches names by a lower-case pattern in which `*` stands for any characters; it must not contain `?`, `[` or `]`.
 */
export function matchNamePattern(pattern: string): Condition {
  return { sql: 'name GLOB ?', params: [pattern] };
}

/** Matches records with this type and duplicate key. */
export function matchData(keys: readonly { readonly type: number; readonly rdataKey: Uint8Array }[]): Condition {
  if (keys.length === 0) return matchNothing();
  return {
    sql: `(type, rdata_key) IN (VALUES ${keys.map(() => '(?, ?)').join(', ')})`,
    params: keys.flatMap(({ type, rdataKey }) => [type, rdataKey]),
    indexed: true,
  };
}

/** Matches part of the content: the text as shown, and for quoted TXT also the decoded text. */
export function matchContentPart(operator: TextOperator, value: string): Condition {
  const collapsed = value.replace(/[ \t]+/g, ' ');
  const plain = matchText('content', operator, collapsed);
  const raw = matchText('content', operator, value);
  const decoded = matchText('txt_text(rdata)', operator, value);
  return joinConditions('any', [
    { sql: `type <> ${TXT} AND ${plain.sql}`, params: plain.params },
    { sql: `type = ${TXT} AND ${raw.sql}`, params: raw.params },
    { sql: `type = ${TXT} AND substr(content, 1, 1) = '"' AND ${decoded.sql}`, params: decoded.params },
  ]);
}

export function matchCommentPresence(present: boolean): Condition {
  return { sql: `comment IS ${present ? 'NOT ' : ''}NULL`, params: [] };
}

/** Free text: the word occurs anywhere in the record. `types` are those whose mnemonic contains it. */
export function matchWord(word: string, types: readonly number[]): Condition {
  return joinConditions('any', [
    matchText('name', 'contains', word),
    matchContentPart('contains', word),
    matchText('comment', 'contains', word),
    matchText('tags', 'contains', word),
    matchTypes(types),
  ]);
}

export interface TagTest {
  readonly operator: TextOperator | 'present' | 'absent';
  /** In any case. */
  readonly name: string;
  /** What a text operator compares, in any case. */
  readonly value?: string | undefined;
}

interface TagFilter {
  readonly match: 'all' | 'any';
  readonly tests: readonly TagTest[];
}

/** Rows often have the tags of others; so many different ones are remembered. */
const REMEMBERED = 1000;

/**
 * One function decides about a row, however many filters there are: a condition in SQL for each would read the list of tags once for each.
 * Registers the function that {@link matchTags} uses, once for each handle.
 */
const defineTagFunction = perStore((store) => {
  let lastFilter = '';
  let decide: (tags: string | null) => boolean = () => true;
  store.defineFunction('tags_match', (tags, filter) => {
    if (filter !== lastFilter) {
      decide = decideBy(JSON.parse(String(filter)) as TagFilter);
      lastFilter = String(filter);
    }
    return decide(tags as string | null) ? 1 : 0;
  });
  return true;
});

/** Matches records by their tags. */
export function matchTags(match: 'all' | 'any', tests: readonly TagTest[]): Condition {
  const folded = tests.map(({ operator, name, value = '' }) => {
    return { operator, name: name.toLowerCase(), value: value.toLowerCase() };
  });
  const filter: TagFilter = { match, tests: folded };
  return { sql: 'tags_match(tags, ?)', params: [JSON.stringify(filter)] };
}

function decideBy({ match, tests }: TagFilter): (tags: string | null) => boolean {
  const known = new Map<string | null, boolean>();
  return (tags) => {
    let matches = known.get(tags);
    if (matches === undefined) {
      const values = valuesByName(tags);
      const passes = (test: TagTest): boolean => isPassed(test, values.get(test.name));
      matches = match === 'all' ? tests.every(passes) : tests.some(passes);
      if (known.size < REMEMBERED) known.set(tags, matches);
    }
    return matches;
  };
}

/** A tag without a colon has the empty value. A record has one tag of a name (control/rules/tags.ts). */
function valuesByName(tags: string | null): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (tags === null) return values;
  for (const tag of JSON.parse(tags) as string[]) {
    const colon = tag.indexOf(':');
    const name = colon < 0 ? tag : tag.slice(0, colon);
    values.set(name.toLowerCase(), colon < 0 ? '' : tag.slice(colon + 1).toLowerCase());
  }
  return values;
}

function isPassed({ operator, value = '' }: TagTest, found: string | undefined): boolean {
  if (operator === 'absent' || found === undefined) return (operator === 'absent') === (found === undefined);
  switch (operator) {
    case 'present':
      return true;
    case 'exact':
      return found === value;
    case 'contains':
      return found.includes(value);
    case 'startswith':
      return found.startsWith(value);
    case 'endswith':
      return found.endsWith(value);
  }
}
