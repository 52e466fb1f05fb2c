/**
 * Lists of zones: the v4 filters as SQL (v4: §3.3). The actor's permissions always apply; filters are joined by
 * `match`.
 */

import { hasRow, theValue, valueOrZero } from '../columns.js';
import { type Condition, defineTextFunctions, joinConditions, matchAnyOf, matchIds, matchText } from '../condition.js';
import type { SqlValue, Store } from '../driver.js';
import { findZone, type ZoneRow, type ZoneStatus, type ZoneType } from './zones.js';

/** Whether there are more zones than so many. */
const hasMoreZones = hasRow<[than: number]>('SELECT 1 FROM zones LIMIT 1 OFFSET ?');

export type NameOperator =
  | 'equal'
  | 'not_equal'
  | 'starts_with'
  | 'ends_with'
  | 'contains'
  | 'starts_with_case_sensitive'
  | 'ends_with_case_sensitive'
  | 'contains_case_sensitive';

export type ZoneOrder = 'name' | 'status' | 'account.id' | 'account.name' | 'plan.id';

export interface ZoneSelection {
  /** Accounts whose zones the actor may see; undefined = all. */
  readonly accounts: readonly Uint8Array[] | undefined;
  /** Zones of other accounts that are searched too. */
  readonly besides?: readonly Uint8Array[];
  /** Zones that the actor may see; undefined = all. */
  readonly zones: readonly Uint8Array[] | undefined;
  readonly types: readonly ZoneType[];
  readonly match: 'all' | 'any';
  readonly conditions: readonly Condition[];
  readonly order: ZoneOrder;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** Where there are more zones, no more may be looked through for the page. */
  readonly mostRead?: number | undefined;
}

/** The types that a list has unless others are asked for. */
export const LISTED_TYPES: readonly ZoneType[] = ['full', 'partial', 'secondary'];

const FROM = 'FROM zones AS z';
const WITH_ACCOUNT = `${FROM} JOIN accounts AS a ON a.seq = z.account`;

const ORDER_COLUMNS: Readonly<Record<ZoneOrder, string>> = {
  name: 'z.name',
  status: 'z.status',
  'account.id': 'a.id',
  'account.name': 'a.name',
  // Every zone has the same plan.
  'plan.id': 'z.name',
};

/** Undefined: more zones would be looked through than {@link ZoneSelection.mostRead}. */
export function selectZones(store: Store, selection: ZoneSelection): { rows: ZoneRow[]; total: number } | undefined {
  defineTextFunctions(store);
  const { accounts, besides = [], zones, types, match, conditions, order, direction, limit, offset } = selection;
  const { mostRead } = selection;
  const counted = countAtOnce(store, selection);
  const isInOrder = counted !== undefined && ORDER_COLUMNS[order] === 'z.name';
  // All that match are counted, or sorted.
  if (mostRead !== undefined && !isInOrder && hasMoreZones(store, mostRead)) return undefined;
  const all: Condition[] = [matchAnyOf('z.type', types)];
  if (accounts) {
    const own = accounts.length === 1 ? matchAccount(accounts[0]!) : inAccounts(matchIds('id', accounts));
    all.push(besides.length === 0 ? own : joinConditions('any', [own, matchIds('z.id', besides)]));
  }
  if (zones) all.push(matchIds('z.id', zones));
  if (conditions.length > 0) all.push(joinConditions(match, conditions));
  const { sql, params } = joinConditions('all', all);
  const total = counted ?? count(store, sql, params);
  const length = Math.min(limit, total - offset);
  if (length <= 0) return { rows: [], total };
  const [column, from] = [ORDER_COLUMNS[order], order.startsWith('account.') ? WITH_ACCOUNT : FROM];
  // What stands before a page is passed; from the end on, where less does.
  const isFromEnd = offset > total - offset - length;
  const passed = isFromEnd ? total - offset - length : offset;
  if (passed + length > (mostRead ?? Number.POSITIVE_INFINITY)) return undefined;
  const first = isFromEnd === (direction === 'desc') ? 'asc' : 'desc';
  const ties = (column === 'z.name' ? ['z.id'] : ['z.name', 'z.id']).map(
    (tie) => `${tie} ${isFromEnd ? 'desc' : 'asc'}`,
  );
  // An index finds the matching zones; rows are read only for the page.
  const page = `SELECT z.seq ${from} WHERE ${sql} ORDER BY ${column} ${first}, ${ties.join(', ')} LIMIT ? OFFSET ?`;
  const found = store.prepareTuples<SqlValue[], [number]>(page).all(...params, length, passed);
  if (isFromEnd) found.reverse();
  return { rows: found.map(([seq]) => findZone(store, seq)!), total };
}

function count(store: Store, sql: string, params: readonly SqlValue[]): number {
  return store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) ${FROM} WHERE ${sql}`).get(...params)![0];
}

/** The number of all zones, or of all of an account, but internal ones; undefined for other selections. */
function countAtOnce(
  store: Store,
  { accounts, besides = [], zones, types, conditions }: ZoneSelection,
): number | undefined {
  const isListed = LISTED_TYPES.every((type) => types.includes(type)) && !types.includes('internal');
  if (!isListed || zones || besides.length > 0 || conditions.length > 0) return undefined;
  const internal = countInternal(store);
  if (!accounts) return countAll(store) - internal;
  return accounts.length === 1 && internal === 0 ? countOf(store, accounts[0]!) : undefined;
}

/** SQLite counts all rows of a table without reading them. */
const countAll = theValue<[], number>('SELECT count(*) FROM zones');

/** An index has no others. */
const countInternal = theValue<[], number>("SELECT count(*) FROM zones WHERE type = 'internal'");

/** Triggers count the zones of each account. */
const countOf = valueOrZero<[account: Uint8Array]>(
  "SELECT used FROM account_usage WHERE account = (SELECT seq FROM accounts WHERE id = ?) AND kind = 'zones'",
);

/** Zones of the matching accounts. */
function inAccounts({ sql, params }: Condition): Condition {
  return { sql: `z.account IN (SELECT seq FROM accounts WHERE ${sql})`, params };
}

export function matchStatuses(statuses: readonly ZoneStatus[]): Condition {
  return matchAnyOf('z.status', statuses);
}

export function matchAccount(id: Uint8Array): Condition {
  // Equal to one, so that an index has the order.
  return { sql: 'z.account = (SELECT seq FROM accounts WHERE id = ?)', params: [id] };
}

export function matchName(subject: 'zone' | 'account', operator: NameOperator, value: string): Condition {
  return subject === 'zone'
    ? matchColumn('z.name', operator, value)
    : inAccounts(matchColumn('accounts.name', operator, value));
}

/** Matches zones with one of these names, which are lower-case ASCII. */
export function matchZoneNames(names: readonly string[]): Condition {
  return matchAnyOf('z.name', names);
}

function matchColumn(column: string, operator: NameOperator, value: string): Condition {
  switch (operator) {
    case 'equal':
      // Zone names are stored in lower case.
      return column === 'z.name' ? matchAnyOf(column, [value.toLowerCase()]) : matchText(column, 'exact', value);
    case 'not_equal': {
      const { sql, params } = matchText(column, 'exact', value);
      return { sql: `NOT (${sql})`, params };
    }
    case 'starts_with':
      return matchText(column, 'startswith', value);
    case 'ends_with':
      return matchText(column, 'endswith', value);
    case 'contains':
      return matchText(column, 'contains', value);
    case 'starts_with_case_sensitive':
      return { sql: `substr(${column}, 1, length(?)) = ?`, params: [value, value] };
    case 'ends_with_case_sensitive':
      return {
        sql: `length(?) <= length(${column}) AND substr(${column}, length(${column}) - length(?) + 1) = ?`,
        params: [value, value, value],
      };
    case 'contains_case_sensitive':
      return { sql: `instr(${column}, ?) > 0`, params: [value] };
  }
}
