/** Lists of the custom hostnames of a zone: filters as SQL (v4: §10.5). */
import { type Condition, joinConditions, matchText, type TextOperator } from '../condition.js';
import type { SqlValue, Store } from '../driver.js';
import type { HostnameRow } from './hostnames.js';

export interface HostnameSelection {
  /** Store number. */
  readonly zone: number;
  readonly conditions: readonly Condition[];
  readonly direction: 'asc' | 'desc';
  /** Absent: no limit. */
  readonly limit?: number;
  readonly offset?: number;
}

/** In the order of their creation. `total`: the number of all matches. */
export function selectHostnames(store: Store, selection: HostnameSelection): { rows: HostnameRow[]; total: number } {
  const { zone, conditions, direction, limit, offset } = selection;
  const { sql, params } = joinConditions('all', [{ sql: 'zone = ?', params: [zone] }, ...conditions]);
  const counted = store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) FROM custom_hostnames WHERE ${sql}`);
  const total = counted.get(...params)![0];
  const rows = store.prepare<SqlValue[], HostnameRow>(
    `SELECT * FROM custom_hostnames WHERE ${sql} ORDER BY created_at ${direction}, id ${direction} LIMIT ? OFFSET ?`,
  );
  return { rows: rows.all(...params, limit ?? -1, offset ?? 0), total };
}

export function matchHostname(operator: TextOperator, value: string): Condition {
  return matchText('hostname', operator, value);
}

export function matchHostnameId(id: string): Condition {
  return { sql: 'id = ?', params: [id] };
}

export function matchOrigin(origin: string): Condition {
  return { sql: 'origin = ?', params: [origin] };
}

export function matchWithSsl(wanted: boolean): Condition {
  return { sql: wanted ? 'ssl IS NOT NULL' : 'ssl IS NULL', params: [] };
}

export function matchWildcard(wanted: boolean): Condition {
  return { sql: "coalesce(json_extract(ssl, '$.wildcard'), 0) = ?", params: [wanted ? 1 : 0] };
}
