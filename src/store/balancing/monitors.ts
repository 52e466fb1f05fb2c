/** Monitors of accounts: how origins are probed. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { allRows, oneRow, runs, theValue } from '../query.js';

const MONITOR = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  /** JSON: what its owner wrote (balancing/monitor.ts). */
  settings: column<string>(),
  /** Seconds between two probes. */
  interval: column<number>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface MonitorRow extends RowOf<typeof MONITOR> {
  readonly seq: number;
}

const VALUES = MONITOR.only('settings', 'interval');

type Values = RowOf<typeof VALUES>;

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('monitors', MONITOR)),
  update: store.prepare<SqlValue[]>(`UPDATE monitors SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
}));

export const findMonitor = oneRow<[seq: number], MonitorRow>('SELECT * FROM monitors WHERE seq = ?');

export const findMonitorById = oneRow<[id: Uint8Array], MonitorRow>('SELECT * FROM monitors WHERE id = ?');

/** Counts the monitors of all accounts that send ICMP messages. */
// Matches JSON without spaces.
export const countPingingMonitors = theValue<[], number>(
  `SELECT count(*) FROM monitors WHERE settings LIKE '%"type":"icmp_ping"%' OR settings LIKE '%"type":"udp_icmp"%'`,
);

/** The oldest first. */
export const monitorsOfAccount = allRows<[account: number], MonitorRow>(
  'SELECT * FROM monitors WHERE account = ? ORDER BY seq',
);

/** `now`: microseconds since 1970. */
export function insertMonitor(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...MONITOR.values(row));
}

export function updateMonitor(store: Store, seq: number, values: Values, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

export const removeMonitor = runs<[seq: number]>('DELETE FROM monitors WHERE seq = ?');
