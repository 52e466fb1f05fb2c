/** Lists of the audit log: filters as SQL. */
import { type Condition, joinConditions, matchIds } from '../condition.js';
import type { SqlValue, Store } from '../driver.js';
import type { AuditRow } from './audit.js';

export interface AuditSelection {
  readonly conditions: readonly Condition[];
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

/** An audit entry with the names needed to show it; names of deleted zones and accounts are null. */
export interface NamedAuditRow extends AuditRow {
  readonly zone_name: string | null;
  readonly account_id: Uint8Array | null;
  readonly account_name: string | null;
}

/** Columns that filters may use. */
const COLUMNS = {
  seq: 'a.seq',
  action: 'a.action',
  actor: 'lower(a.actor)',
  actorId: 'a.actor_id',
  address: 'a.address',
  zone: 'a.zone',
  object: 'a.object',
  request: 'a.request_id',
} as const;

export type AuditColumn = keyof typeof COLUMNS;

export function matchAccountOf(account: number): Condition {
  return { sql: 'a.account = ?', params: [account] };
}

/** Matches any of the values; with `not`, none of them. NULL matches none of them. */
export function matchColumn(column: AuditColumn, values: readonly SqlValue[], not = false): Condition {
  const list = `${COLUMNS[column]} IN (${values.map(() => '?').join(', ')})`;
  return { sql: not ? `(${list}) IS NOT TRUE` : list, params: [...values] };
}

/** Matches the first part of the action: the kind of thing that changed. */
export function matchResource(types: readonly string[], not = false): Condition {
  const list = `substr(a.action, 1, instr(a.action, '.') - 1) IN (${types.map(() => '?').join(', ')})`;
  return { sql: not ? `NOT (${list})` : list, params: [...types] };
}

/** Matches the second part of the action: what was done. */
export function matchVerbs(verbs: readonly string[], not = false): Condition {
  const list = `substr(a.action, instr(a.action, '.') + 1) IN (${verbs.map(() => '?').join(', ')})`;
  return { sql: not ? `NOT (${list})` : list, params: [...verbs] };
}

/** Entries about any of these zones, which may be deleted. */
export function matchZones(ids: readonly Uint8Array[]): Condition {
  return matchIds('a.zone', ids);
}

export function matchZoneNames(names: readonly string[], not = false): Condition {
  const list = `a.zone IN (SELECT id FROM zones WHERE name IN (${names.map(() => '?').join(', ')}))`;
  return { sql: not ? `(${list}) IS NOT TRUE` : list, params: [...names] };
}

/** Entries from `since` on and before `before`, in microseconds since 1970. */
export function matchTime(since: number | undefined, before: number | undefined): Condition[] {
  return [
    ...(since === undefined ? [] : [{ sql: 'a.at_us >= ?', params: [since] }]),
    ...(before === undefined ? [] : [{ sql: 'a.at_us < ?', params: [before] }]),
  ];
}

/** Entries after the one numbered `seq`, in the direction of the list. */
export function matchBehind(seq: number, direction: 'asc' | 'desc'): Condition {
  return { sql: `a.seq ${direction === 'asc' ? '>' : '<'} ?`, params: [seq] };
}

export function selectAudit(store: Store, selection: AuditSelection): NamedAuditRow[] {
  const { conditions, direction, limit, offset } = selection;
  const { sql, params } = joinConditions('all', conditions);
  return store
    .prepare<SqlValue[], NamedAuditRow>(
      `SELECT a.*, z.name AS zone_name, c.id AS account_id, c.name AS account_name
       FROM audit AS a LEFT JOIN zones AS z ON z.id = a.zone LEFT JOIN accounts AS c ON c.seq = a.account
       WHERE ${sql} ORDER BY a.seq ${direction} LIMIT ? OFFSET ?`,
    )
    .all(...params, limit, offset);
}

export function countAudit(store: Store, conditions: readonly Condition[]): number {
  const { sql, params } = joinConditions('all', conditions);
  return store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) FROM audit AS a WHERE ${sql}`).get(...params)![0];
}
