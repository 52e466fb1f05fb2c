/**
 * Transitions of pools and origins from healthy to unhealthy and back: 30 days of them, at most 100,000. Their numbers grow and are
 * never used again, so that a process that remembers the last one learns of every later transition. A row without origins is not a
 * transition: only round trips have changed, or what one region agrees on. A pool has at most one of these among its last rows.
 */
import { allRows, column, columns, insertion, type RowOf, valueOrZero } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { entriesToPrune, type PrunedLog } from '../log/prune.js';

const EVENT = columns({
  /** Microseconds since 1970. */
  at_us: column<number>(),
  /** Store number. */
  account: column<number>(),
  /** Identifier of the pool, which may be gone, and its name then. */
  pool: column<Uint8Array>(),
  pool_name: column<string>(),
  /** 1: healthy since. */
  pool_healthy: column<number>(),
  /** 1: the pool itself changed. */
  pool_changed: column<number>(),
  minimum_origins: column<number>(),
  /** JSON list of the origins that changed, as clients see them. */
  origins: column<string>(),
});

export interface HealthEventRow extends RowOf<typeof EVENT> {
  readonly seq: number;
}

const KEPT: PrunedLog = { table: 'health_events', kept: 100_000, newest: 0 };
/** How long events are kept, in microseconds. */
export const KEPT_US = 30 * 86_400_000_000;
const PRUNE_EVERY = 100;

const IS_TRANSITION = `(origins <> '[]' OR pool_changed = 1)`;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('health_events', EVENT)),
  ofAccount: store.prepare<
    [account: number, since: number, until: number, before: number, limit: number],
    HealthEventRow
  >(
    `SELECT * FROM health_events WHERE account = ? AND at_us >= ? AND at_us < ? AND seq < ? AND ${IS_TRANSITION}
       ORDER BY seq DESC LIMIT ?`,
  ),
  ofPool: store.prepare<
    [pool: Uint8Array, account: number, since: number, until: number, before: number, limit: number],
    HealthEventRow
  >(
    `SELECT * FROM health_events WHERE pool = ? AND account = ? AND at_us >= ? AND at_us < ? AND seq < ? AND ${IS_TRANSITION}
       ORDER BY seq DESC LIMIT ?`,
  ),
  newsOfPool: store.prepareTuples<[pool: Uint8Array, among: number], [number]>(
    `SELECT seq FROM (SELECT * FROM health_events WHERE pool = ? ORDER BY seq DESC LIMIT ?) WHERE NOT ${IS_TRANSITION}`,
  ),
  oldest: store.prepareTuples<[limit: number], [seq: number, atUs: number]>(
    'SELECT seq, at_us FROM health_events ORDER BY seq LIMIT ?',
  ),
  prune: store.prepare<[seq: number]>('DELETE FROM health_events WHERE seq = ?'),
}));

/** Which events of an account are asked for; times in microseconds since 1970. */
export interface HealthEventFilter {
  readonly since: number;
  readonly until: number;
  /** Identifier of a pool. */
  readonly pool?: Uint8Array | undefined;
  /** Older than the event of this number. */
  readonly before?: number | undefined;
}

/** The newest first. */
export function healthEventsOfAccount(
  store: Store,
  account: number,
  { since, until, pool, before = Number.MAX_SAFE_INTEGER }: HealthEventFilter,
  limit: number,
): HealthEventRow[] {
  const { ofAccount, ofPool } = statements(store);
  return pool
    ? ofPool.all(pool, account, since, until, before, limit)
    : ofAccount.all(account, since, until, before, limit);
}

/** In order, no more than `limit`. */
export const healthEventsAfter = allRows<[seq: number, limit: number], HealthEventRow>(
  'SELECT * FROM health_events WHERE seq > ? ORDER BY seq LIMIT ?',
);

/** Number of the newest; 0 when there is none. */
export const lastHealthEvent = valueOrZero<[]>('SELECT max(seq) FROM health_events');

/** Appends a transition, and returns its number. Inside a write. */
export function appendHealthEvent(store: Store, row: RowOf<typeof EVENT>): number {
  const { lastInsertRowid: seq } = statements(store).insert.run(...EVENT.values(row));
  if (seq % PRUNE_EVERY === 0) pruneHealthEvents(store, row.at_us);
  return seq;
}

/** Rows of a pool among which the last one without a transition is looked for: a pool may have most of what is kept. */
const NEWS_AMONG = 100;

/** Tells followers that something about a pool other than its health is new. Inside a write. */
export function appendPoolNews(store: Store, row: Omit<RowOf<typeof EVENT>, 'pool_changed' | 'origins'>): void {
  const { newsOfPool, prune } = statements(store);
  for (const [seq] of newsOfPool.all(row.pool, NEWS_AMONG)) prune.run(seq);
  appendHealthEvent(store, { ...row, pool_changed: 0, origins: '[]' });
}

/** Most that one pruning removes. */
const MOST_AT_ONCE = 1000;

function pruneHealthEvents(store: Store, nowUs: number): void {
  const { oldest, prune } = statements(store);
  for (const [seq, atUs] of oldest.all(MOST_AT_ONCE)) if (atUs < nowUs - KEPT_US) prune.run(seq);
  for (const seq of entriesToPrune(store, KEPT, nowUs)) prune.run(seq);
}
