/** Groups of monitors, which together say whether an origin is healthy. */
import { allRows, column, columns, insertion, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import type { MonitorRow } from './monitors.js';

const GROUP = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  /** JSON: what its owner wrote (balancing/monitor.ts). */
  settings: column<string>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface MonitorGroupRow extends RowOf<typeof GROUP> {
  readonly seq: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<SqlValue[]>(insertion('monitor_groups', GROUP)),
  update: store.prepare<[settings: string, modifiedAt: number, seq: number]>(
    'UPDATE monitor_groups SET settings = ?, modified_at = ? WHERE seq = ?',
  ),
  link: store.prepare<[group: number, monitor: number]>(
    'INSERT INTO monitor_group_members (monitor_group, monitor) VALUES (?, ?)',
  ),
  unlink: store.prepare<[group: number]>('DELETE FROM monitor_group_members WHERE monitor_group = ?'),
}));

export const findMonitorGroup = oneRow<[seq: number], MonitorGroupRow>('SELECT * FROM monitor_groups WHERE seq = ?');

export const findMonitorGroupById = oneRow<[id: Uint8Array], MonitorGroupRow>(
  'SELECT * FROM monitor_groups WHERE id = ?',
);

/** The oldest first. */
export const monitorGroupsOfAccount = allRows<[account: number], MonitorGroupRow>(
  'SELECT * FROM monitor_groups WHERE account = ? ORDER BY seq',
);

/** Groups in which a monitor (store number) is. */
export const groupsOfMonitor = allRows<
  [monitor: number],
  MonitorGroupRow
>(`SELECT monitor_groups.* FROM monitor_group_members JOIN monitor_groups ON monitor_groups.seq = monitor_group
     WHERE monitor = ? ORDER BY monitor_groups.seq`);

/** All monitors of a group (store number), whatever they count there. */
export const monitorsOfGroup = allRows<
  [group: number],
  MonitorRow
>(`SELECT monitors.* FROM monitor_group_members JOIN monitors ON monitors.seq = monitor
     WHERE monitor_group = ? ORDER BY monitors.seq`);

/** What its owner sets. `monitors`: store numbers of its members. */
interface Values {
  readonly settings: string;
  readonly monitors: readonly number[];
}

/** `now`: microseconds since 1970. */
export function insertMonitorGroup(
  store: Store,
  id: Uint8Array,
  account: number,
  { settings, monitors }: Values,
  now: number,
): void {
  const row = { id, account, settings, created_at: now, modified_at: now };
  const { lastInsertRowid: seq } = statements(store).insert.run(...GROUP.values(row));
  for (const monitor of monitors) statements(store).link.run(seq, monitor);
}

export function updateMonitorGroup(store: Store, seq: number, { settings, monitors }: Values, now: number): void {
  const { update, unlink, link } = statements(store);
  update.run(settings, now, seq);
  unlink.run(seq);
  for (const monitor of monitors) link.run(seq, monitor);
}

export const removeMonitorGroup = runs<[seq: number]>('DELETE FROM monitor_groups WHERE seq = ?');
