/** Pools of accounts: the origins between which is chosen. */
import { allRows, column, columns, insertion, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const POOL = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  name: column<string>(),
  /** The name in lower case. */
  name_key: column<string>(),
  /** JSON: what its owner wrote (balancing/pool.ts). */
  settings: column<string>(),
  /** Store number of its monitor, or of its group of monitors. */
  monitor: column<number | null>(),
  monitor_group: column<number | null>(),
  /** How many of its origins are probed if it has a monitor. */
  targets: column<number>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface PoolRow extends RowOf<typeof POOL> {
  readonly seq: number;
}

const VALUES = POOL.only('name', 'name_key', 'settings', 'monitor', 'monitor_group', 'targets');

export type PoolValues = RowOf<typeof VALUES>;

/** What the monitors of an account do: how many origins they probe, and how many probes that is a second. */
export interface ProbeLoad {
  readonly targets: number;
  readonly perSecond: number;
}

const statements = perStore((store) => ({
  byName: store.prepare<[account: number, nameKey: string], PoolRow>(
    'SELECT * FROM pools WHERE account = ? AND name_key = ?',
  ),
  load: store.prepare<[account: number, account: number], ProbeLoad>(
    `SELECT coalesce(sum(targets), 0) AS targets, coalesce(sum(targets * 1.0 / interval), 0.0) AS perSecond FROM (
       SELECT targets, interval FROM pools JOIN monitors ON monitors.seq = pools.monitor WHERE pools.account = ?
       UNION ALL
       SELECT targets, interval FROM pools JOIN monitor_group_members USING (monitor_group)
         JOIN monitors ON monitors.seq = monitor_group_members.monitor WHERE pools.account = ?)`,
  ),
  insert: store.prepare<SqlValue[]>(insertion('pools', POOL)),
  update: store.prepare<SqlValue[]>(`UPDATE pools SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
}));

export const findPool = oneRow<[seq: number], PoolRow>('SELECT * FROM pools WHERE seq = ?');

/** Without its settings, which may be long. */
export const findPoolName = oneRow<[seq: number], Pick<PoolRow, 'id' | 'name'>>(
  'SELECT id, name FROM pools WHERE seq = ?',
);

export const findPoolById = oneRow<[id: Uint8Array], PoolRow>('SELECT * FROM pools WHERE id = ?');

/** `name`: in any case. */
export function findPoolByName(store: Store, account: number, name: string): PoolRow | undefined {
  return statements(store).byName.get(account, name.toLowerCase());
}

/** The oldest first. */
export const poolsOfAccount = allRows<[account: number], PoolRow>('SELECT * FROM pools WHERE account = ? ORDER BY seq');

/** Pools whose monitor it is (store number); those of its groups are others. */
export const poolsOfMonitor = allRows<[monitor: number], PoolRow>('SELECT * FROM pools WHERE monitor = ? ORDER BY seq');

export const poolsOfMonitorGroup = allRows<[group: number], PoolRow>(
  'SELECT * FROM pools WHERE monitor_group = ? ORDER BY seq',
);

/** Every pool that a load balancer (store number) refers to anywhere. */
export const poolsOfBalancer = allRows<[balancer: number], PoolRow>(
  `SELECT pools.* FROM load_balancer_pools JOIN pools ON pools.seq = pool WHERE load_balancer = ? ORDER BY pools.seq`,
);

/** Pools of all accounts whose origins are to be probed, in the order of their numbers, after one of them; no more than `limit`. */
export const monitoredPools = allRows<
  [after: number, limit: number],
  PoolRow
>(`SELECT * FROM pools WHERE seq > ? AND targets > 0 AND (monitor IS NOT NULL OR monitor_group IS NOT NULL)
     ORDER BY seq LIMIT ?`);

export function probeLoadOf(store: Store, account: number): ProbeLoad {
  return statements(store).load.get(account, account)!;
}

/** `now`: microseconds since 1970. */
export function insertPool(store: Store, id: Uint8Array, account: number, values: PoolValues, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...POOL.values(row));
}

export function updatePool(store: Store, seq: number, values: PoolValues, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

/** A load balancer must not refer to it any more. */
export const removePool = runs<[seq: number]>('DELETE FROM pools WHERE seq = ?');
