/** Lists of zones: the v4 filters as SQL (v4: §3.3). What the actor may see always holds, the filters are joined by `match`. */
import type { SqlValue, Store } from './driver.js';
import { type Condition, joinConditions, matchText } from './record-query.js';
import type { ZoneRow, ZoneStatus, ZoneType } from './zones.js';

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
  /** Accounts whose zones may be seen; undefined = all. */
  readonly accounts: readonly Uint8Array[] | undefined;
  /** Zones that may be seen; undefined = all. */
  readonly zones: readonly Uint8Array[] | undefined;
  readonly types: readonly ZoneType[];
  readonly match: 'all' | 'any';
  readonly conditions: readonly Condition[];
  readonly order: ZoneOrder;
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

const FROM = 'FROM zones AS z JOIN accounts AS a ON a.seq = z.account';

const ORDER_COLUMNS: Readonly<Record<ZoneOrder, string>> = {
  name: 'z.name',
  status: 'z.status',
  'account.id': 'a.id',
  'account.name': 'a.name',
  // Every zone has the same plan.
  'plan.id': 'z.name',
};

export function selectZones(store: Store, selection: ZoneSelection): { rows: ZoneRow[]; total: number } {
  const { accounts, zones, types, match, conditions, order, direction, limit, offset } = selection;
  const all: Condition[] = [matchAnyOf('z.type', types)];
  if (accounts) all.push(matchAnyOf('a.id', accounts));
  if (zones) all.push(matchAnyOf('z.id', zones));
  if (conditions.length > 0) all.push(joinConditions(match, conditions));
  const { sql, params } = joinConditions('all', all);
  const total = store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) ${FROM} WHERE ${sql}`).get(...params)![0];
  const rows = store
    .prepare<SqlValue[], ZoneRow>(
      `SELECT z.* ${FROM} WHERE ${sql} ORDER BY ${ORDER_COLUMNS[order]} ${direction}, z.name, z.id LIMIT ? OFFSET ?`,
    )
    .all(...params, limit, offset);
  return { rows, total };
}

/** A column equal to one of the values; none of them = never. */
export function matchAnyOf(column: string, values: readonly SqlValue[]): Condition {
  return { sql: `${column} IN (${values.map(() => '?').join(', ')})`, params: values };
}

export function matchStatuses(statuses: readonly ZoneStatus[]): Condition {
  return matchAnyOf('z.status', statuses);
}

export function matchAccount(id: Uint8Array): Condition {
  return matchAnyOf('a.id', [id]);
}

export function matchName(subject: 'zone' | 'account', operator: NameOperator, value: string): Condition {
  const column = subject === 'zone' ? 'z.name' : 'a.name';
  switch (operator) {
    case 'equal':
      return matchText(column, 'exact', value);
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
