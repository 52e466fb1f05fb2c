/** The health of origins, as nodes found it by monitors, and as regions and all nodes agree on it. */
import { allRows, column, columns, insertion, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const STATE = columns({
  /** Store number of the pool. */
  pool: column<number>(),
  /** The origin's name in the pool. */
  origin: column<string>(),
  /** Store number of the monitor. */
  monitor: column<number>(),
  /** Code of the region; empty: of all regions. */
  region: column<string>(),
  /** Name of the node; empty: what the nodes of the region agree on. */
  node: column<string>(),
  healthy: column<number>(),
  /** As in the health of a pool, such as `TCP Timeout`; `No failures` while it is healthy. */
  failure_reason: column<string>(),
  response_code: column<number | null>(),
  /** Microseconds. */
  rtt: column<number | null>(),
  /** Since when it is so, and when it was last known to be so; microseconds since 1970. */
  changed_at: column<number>(),
  confirmed_at: column<number>(),
});

export type OriginStateRow = RowOf<typeof STATE>;

const statements = perStore((store) => ({
  ofNodes: store.prepareTuples<[], [number]>("SELECT DISTINCT pool FROM origin_states WHERE node <> '' ORDER BY pool"),
  put: store.prepare<SqlValue[]>(
    `${insertion('origin_states', STATE)} ON CONFLICT (pool, origin, monitor, region, node) DO UPDATE SET
       healthy = excluded.healthy, failure_reason = excluded.failure_reason, response_code = excluded.response_code,
       rtt = excluded.rtt, changed_at = excluded.changed_at, confirmed_at = excluded.confirmed_at`,
  ),
  forgetRegion: store.prepare<[pool: number, origin: string, monitor: number, region: string]>(
    "DELETE FROM origin_states WHERE pool = ? AND origin = ? AND monitor = ? AND region = ? AND node = ''",
  ),
}));

/** What is known of the origins of a pool (store number). */
export const originStatesOfPool = allRows<[pool: number], OriginStateRow>(
  'SELECT * FROM origin_states WHERE pool = ? ORDER BY origin, monitor, region, node',
);

/** Pools (store numbers) of which nodes have found something. */
export function poolsFoundByNodes(store: Store): number[] {
  return statements(store)
    .ofNodes.all()
    .map(([pool]) => pool);
}

export function putOriginState(store: Store, row: OriginStateRow): void {
  statements(store).put.run(...STATE.values(row));
}

/** Nothing is known any more of an origin that is disabled, gone, or has another address. */
export const forgetOrigin = runs<[pool: number, origin: string]>(
  'DELETE FROM origin_states WHERE pool = ? AND origin = ?',
);

/** For a region without live nodes, which agrees on nothing. */
export function forgetRegionOf(store: Store, { pool, origin, monitor, region }: OriginStateRow): void {
  statements(store).forgetRegion.run(pool, origin, monitor, region);
}

/** The same of what a monitor found that the pool does not have any more. */
export const forgetMonitorOf = runs<[pool: number, monitor: number]>(
  'DELETE FROM origin_states WHERE pool = ? AND monitor = ?',
);
