/** Monitors of accounts: how origins are probed. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

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
  bySeq: store.prepare<[seq: number], MonitorRow>('SELECT * FROM monitors WHERE seq = ?'),
  byId: store.prepare<[id: Uint8Array], MonitorRow>('SELECT * FROM monitors WHERE id = ?'),
  ofAccount: store.prepare<[account: number], MonitorRow>('SELECT * FROM monitors WHERE account = ? ORDER BY seq'),
  // Matches JSON without spaces.
  pinging: store.prepareTuples<[], [number]>(
    `SELECT count(*) FROM monitors WHERE settings LIKE '%"type":"icmp_ping"%' OR settings LIKE '%"type":"udp_icmp"%'`,
  ),
  insert: store.prepare<SqlValue[]>(insertion('monitors', MONITOR)),
  update: store.prepare<SqlValue[]>(`UPDATE monitors SET ${VALUES.assignments}, modified_at = ? WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM monitors WHERE seq = ?'),
}));

export function findMonitor(store: Store, seq: number): MonitorRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findMonitorById(store: Store, id: Uint8Array): MonitorRow | undefined {
  return statements(store).byId.get(id);
}

/** Counts the monitors of all accounts that send ICMP messages. */
export function countPingingMonitors(store: Store): number {
  return statements(store).pinging.get()![0];
}

/** The oldest first. */
export function monitorsOfAccount(store: Store, account: number): MonitorRow[] {
  return statements(store).ofAccount.all(account);
}

/** `now`: microseconds since 1970. */
export function insertMonitor(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const row = { id, account, ...values, created_at: now, modified_at: now };
  statements(store).insert.run(...MONITOR.values(row));
}

export function updateMonitor(store: Store, seq: number, values: Values, now: number): void {
  statements(store).update.run(...VALUES.values(values), now, seq);
}

export function removeMonitor(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
