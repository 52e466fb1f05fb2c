/** What was written to the outbox: events behind a position, by account, zone and kind, and by what people search for. */

import { hasRow, oneRow, valueOrZero } from '../columns.js';
import { type Condition, joinConditions, matchIds } from '../condition.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import type { EventRow } from './events.js';

export interface EventSelection {
  readonly conditions: readonly Condition[];
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

/** An event with the names needed to show it; those of deleted accounts are null. */
export interface NamedEventRow extends EventRow {
  readonly account_id: Uint8Array | null;
  readonly account_name: string | null;
}

/** Columns that filters may use. */
const COLUMNS = {
  seq: 'e.seq',
  kind: 'e.kind',
  actor: 'lower(e.actor)',
  actorId: 'e.actor_id',
  address: 'e.address',
  zone: 'e.zone',
  subject: 'e.subject',
  credential: 'e.credential',
  request: 'e.request_id',
} as const;

export type EventColumn = keyof typeof COLUMNS;

/** Events of an account; `installation`: those of none, too. */
export function matchAccountOf(account: number, installation = false): Condition {
  return { sql: installation ? '(e.account = ? OR e.account IS NULL)' : 'e.account = ?', params: [account] };
}

/** Matches any of the values; with `not`, none of them. NULL matches none of them. */
export function matchColumn(column: EventColumn, values: readonly SqlValue[], not = false): Condition {
  const list = `${COLUMNS[column]} IN (${values.map(() => '?').join(', ')})`;
  return { sql: not ? `(${list}) IS NOT TRUE` : list, params: [...values] };
}

/** Matches the first part of the kind: what changed. */
export function matchResource(types: readonly string[], not = false): Condition {
  const list = `substr(e.kind, 1, instr(e.kind, '.') - 1) IN (${types.map(() => '?').join(', ')})`;
  return { sql: not ? `NOT (${list})` : list, params: [...types] };
}

/** Matches the second part of the kind: what was done. */
export function matchVerbs(verbs: readonly string[], not = false): Condition {
  const list = `substr(e.kind, instr(e.kind, '.') + 1) IN (${verbs.map(() => '?').join(', ')})`;
  return { sql: not ? `NOT (${list})` : list, params: [...verbs] };
}

/** Entries about any of these zones, which may be deleted. */
export function matchZones(ids: readonly Uint8Array[]): Condition {
  return matchIds('e.zone', ids);
}

/** Events about zones of these names, whether they are still there or not. */
export function matchZoneNames(names: readonly string[], not = false): Condition {
  const list = names.map(() => '?').join(', ');
  const named = `e.zone_name IN (${list}) OR e.zone IN (SELECT id FROM zones WHERE name IN (${list}))`;
  return { sql: not ? `(${named}) IS NOT TRUE` : named, params: [...names, ...names] };
}

/** Entries from `since` on and before `before`, in microseconds since 1970. */
export function matchTime(since: number | undefined, before: number | undefined): Condition[] {
  return [
    ...(since === undefined ? [] : [{ sql: 'e.at_us >= ?', params: [since] }]),
    ...(before === undefined ? [] : [{ sql: 'e.at_us < ?', params: [before] }]),
  ];
}

/** Entries after the one numbered `seq`, in the direction of the list. */
export function matchBehind(seq: number, direction: 'asc' | 'desc'): Condition {
  return { sql: `e.seq ${direction === 'asc' ? '>' : '<'} ?`, params: [seq] };
}

const NAMED = `SELECT e.*, coalesce(e.zone_name, z.name) AS zone_name, c.id AS account_id, c.name AS account_name
  FROM events AS e LEFT JOIN zones AS z ON z.id = e.zone LEFT JOIN accounts AS c ON c.seq = e.account`;

export function selectEvents(store: Store, selection: EventSelection): NamedEventRow[] {
  const { conditions, direction, limit, offset } = selection;
  const { sql, params } = joinConditions('all', conditions);
  return store
    .prepare<SqlValue[], NamedEventRow>(`${NAMED} WHERE ${sql} ORDER BY e.seq ${direction} LIMIT ? OFFSET ?`)
    .all(...params, limit, offset);
}

/** The first matching event of each subject. */
export function firstOfSubjects(store: Store, conditions: readonly Condition[]): EventRow[] {
  const { sql, params } = joinConditions('all', conditions);
  const first = `SELECT min(e.seq) FROM events AS e WHERE ${sql} GROUP BY e.subject`;
  return store.prepare<SqlValue[], EventRow>(`SELECT * FROM events WHERE seq IN (${first})`).all(...params);
}

/** Whether an account has more than `most` events behind a position. */
export const hasMoreEvents = hasRow<[account: number, behind: number, most: number]>(
  'SELECT seq FROM events WHERE account = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?',
);

export function countEvents(store: Store, conditions: readonly Condition[]): number {
  const { sql, params } = joinConditions('all', conditions);
  return store.prepareTuples<SqlValue[], [number]>(`SELECT count(*) FROM events AS e WHERE ${sql}`).get(...params)![0];
}

/** What policies judge of an event: it has no states, which may be long. */
export interface BriefEvent {
  readonly seq: number;
  readonly kind: string;
  readonly account: number | null;
  /** Identifiers. */
  readonly zone: string | null;
  readonly subject: string | null;
}

/** JSON, or null. */
export type EventStates = Pick<EventRow, 'before' | 'after'>;

const briefOf = (account: string): string =>
  `SELECT seq, kind, account, nullif(lower(hex(zone)), '') AS zone, nullif(lower(hex(subject)), '') AS subject
   FROM events WHERE account ${account} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`;

const readings = perStore((store) => ({
  states: store.prepare<[seq: number], EventStates>('SELECT before, after FROM events WHERE seq = ?'),
  own: store.prepare<[account: number, behind: number, upTo: number, limit: number], BriefEvent>(briefOf('= ?')),
  withInstallation: store.prepare<SqlValue[], BriefEvent>(
    `SELECT * FROM (${briefOf('= ?')}) UNION ALL SELECT * FROM (${briefOf('IS NULL')}) ORDER BY seq LIMIT ?`,
  ),
}));

/** An event by its number; undefined when it is no longer kept. */
export const findEvent = oneRow<[seq: number], NamedEventRow>(`${NAMED} WHERE e.seq = ?`);

/** The states before and after an event; of one that is no longer kept there are none. */
export function statesOfEvent(store: Store, seq: number): EventStates {
  return readings(store).states.get(seq) ?? { before: null, after: null };
}

/** The first events of an account in a range; `installation`: those of none, too. */
export function briefEventsBetween(
  store: Store,
  { account, installation }: { readonly account: number; readonly installation: boolean },
  { behind, upTo, limit }: { readonly behind: number; readonly upTo: number; readonly limit: number },
): BriefEvent[] {
  const { own, withInstallation } = readings(store);
  if (!installation) return own.all(account, behind, upTo, limit);
  return withInstallation.all(account, behind, upTo, limit, behind, upTo, limit, limit);
}

const positions = perStore((store) => ({
  touched: store.prepare<[after: number, upTo: number], { readonly account: number | null; readonly isAbout: number }>(
    `SELECT account, max(kind = 'account.delete' OR kind LIKE 'webhook.%' OR kind LIKE 'alert_policy.%') AS isAbout
     FROM events WHERE seq > ? AND seq <= ? GROUP BY account`,
  ),
}));

/** Number of the newest event; 0 when there is none. */
export const newestEvent = valueOrZero<[]>('SELECT max(seq) FROM events');

/** Number of the oldest event that is kept; 0 when there is none. */
export const oldestEvent = valueOrZero<[]>('SELECT min(seq) FROM events');

/** Accounts (store numbers; null: the installation) with events in a range, and whether any of these changes alerts. */
export function accountsWithEvents(
  store: Store,
  after: number,
  upTo: number,
): { readonly account: number | null; readonly isAboutAlerts: boolean }[] {
  return positions(store)
    .touched.all(after, upTo)
    .map(({ account, isAbout }) => ({ account, isAboutAlerts: isAbout === 1 }));
}
