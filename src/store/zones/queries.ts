/** What zones were asked: a row for each hour and each day, with the names and networks that asked most. */
import { allRows, allTuples, column, columns, insertion, oneRow, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const QUERIES = columns({
  /** Store number. */
  zone: column<number>(),
  /** Seconds of the row, {@link HOUR} or {@link DAY}, and its beginning, seconds since 1970. */
  span: column<number>(),
  begins: column<number>(),
  /** Answers. */
  total: column<number>(),
  /** JSON. */
  detail: column<string>(),
});

export type QueriesRow = RowOf<typeof QUERIES>;

export const HOUR = 3600;
export const DAY = 86_400;
/** How long rows are kept, seconds from their beginning. */
export const KEPT: Readonly<Record<number, number>> = { [HOUR]: 4 * DAY, [DAY]: 32 * DAY };

const statements = perStore((store) => ({
  put: store.prepare<SqlValue[]>(
    `${insertion('zone_queries', QUERIES)} ON CONFLICT (zone, span, begins) DO UPDATE SET
       total = excluded.total, detail = excluded.detail`,
  ),
  oldest: store.prepareTuples<[span: number], [number | null]>('SELECT min(begins) FROM zone_queries WHERE span = ?'),
  newest: store.prepareTuples<[span: number], [number | null]>('SELECT max(begins) FROM zone_queries WHERE span = ?'),
  thatBegin: store.prepareTuples<[span: number, begins: number, limit: number], [zone: number]>(
    'SELECT zone FROM zone_queries WHERE span = ? AND begins = ? ORDER BY zone LIMIT ?',
  ),
  remove: store.prepare<[zone: number, span: number, begins: number]>(
    'DELETE FROM zone_queries WHERE zone = ? AND span = ? AND begins = ?',
  ),
}));

export const findQueries = oneRow<[zone: number, span: number, begins: number], QueriesRow>(
  'SELECT * FROM zone_queries WHERE zone = ? AND span = ? AND begins = ?',
);

export function putQueries(store: Store, row: QueriesRow): void {
  statements(store).put.run(...QUERIES.values(row));
}

/** The rows of a zone that begin at or after `since` and before `until`, the oldest first. */
export const queriesBetween = allRows<[zone: number, span: number, since: number, until: number], QueriesRow>(
  'SELECT * FROM zone_queries WHERE zone = ? AND span = ? AND begins >= ? AND begins < ? ORDER BY begins',
);

/** The zones for which there is a row, with their accounts. */
export const zonesWithQueries = allTuples<
  [span: number, begins: number],
  [zone: number, account: number]
>(`SELECT q.zone, z.account FROM zone_queries q JOIN zones z ON z.seq = q.zone
     WHERE q.span = ? AND q.begins = ?`);

/** When the oldest row of a span begins; undefined: there is none. */
export function oldestQueries(store: Store, span: number): number | undefined {
  return statements(store).oldest.get(span)![0] ?? undefined;
}

/** When the newest row of a span begins; undefined: there is none. */
export function newestQueries(store: Store, span: number): number | undefined {
  return statements(store).newest.get(span)![0] ?? undefined;
}

/** Removes some rows of a span that begin then. */
export function removeQueries(store: Store, span: number, begins: number, limit: number): void {
  const { thatBegin, remove } = statements(store);
  for (const [zone] of thatBegin.all(span, begins, limit)) remove.run(zone, span, begins);
}
