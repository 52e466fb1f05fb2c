/** Monitors of accounts: how origins are probed. */
import { allRows, column, columns, insertsOwned, oneRow, type RowOf, runs, theValue, updates } from '../columns.js';

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
export const insertMonitor = insertsOwned<Values>('monitors', MONITOR);

export const updateMonitor = updates('monitors', VALUES);

export const removeMonitor = runs<[seq: number]>('DELETE FROM monitors WHERE seq = ?');
