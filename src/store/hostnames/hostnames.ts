/** Rows of custom hostnames. Times ending in `_ms` are milliseconds since 1970, the others microseconds. */
import { allRows, column, columns, insertion, oneRow, type RowOf, runs, setColumns } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { afterReversed, reversedName } from '../zones/zones.js';

export const HOSTNAME_STATES = ['pending', 'active', 'blocked', 'moved'] as const;
export type HostnameState = (typeof HOSTNAME_STATES)[number];

const HOSTNAME = columns({
  /** A UUID. */
  id: column<string>(),
  /** Store number. */
  zone: column<number>(),
  /** A-labels, lower case, without the final dot; may begin with `*.`. */
  hostname: column<string>(),
  state: column<HostnameState>(),
  txt_token: column<string>(),
  http_token: column<string>(),
  /** JSON list of texts. */
  errors: column<string>(),
  /** JSON of the requested certificate; null = no certificate. */
  ssl: column<string | null>(),
  /** JSON object of texts. */
  metadata: column<string | null>(),
  origin: column<string | null>(),
  origin_sni: column<string | null>(),
  /** Number of scheduled checks that were run. */
  check_number: column<number>(),
  /** Null: no more checks. */
  next_check_ms: column<number | null>(),
  /** Consecutive checks in which an active name led elsewhere, and when the first one was. */
  elsewhere_count: column<number>(),
  elsewhere_ms: column<number | null>(),
  /** When it was last seen to lead here; null = never. */
  pointed_at: column<number | null>(),
  activated_at: column<number | null>(),
  activated_by: column<string | null>(),
  /** Store number of the zone here whose records proved it; null: it was proven outside. */
  proof_zone: column<number | null>(),
  /** Labels in reverse without `*`, each followed by a dot. */
  reversed_name: column<string>(),
  moved_at: column<number | null>(),
  created_at: column<number>(),
  modified_at: column<number>(),
  version: column<number>(),
});

export interface HostnameRow extends RowOf<typeof HOSTNAME> {
  readonly seq: number;
}

const NEW_HOSTNAME = HOSTNAME.only(
  'id',
  'zone',
  'hostname',
  'txt_token',
  'http_token',
  'ssl',
  'metadata',
  'origin',
  'origin_sni',
  'next_check_ms',
  'created_at',
  'state',
  'errors',
  'check_number',
  'elsewhere_count',
  'modified_at',
  'reversed_name',
  'version',
);

export type NewHostnameRow = Omit<
  RowOf<typeof NEW_HOSTNAME>,
  'state' | 'errors' | 'check_number' | 'elsewhere_count' | 'modified_at' | 'reversed_name' | 'version'
>;

/** The columns that a use case may set. */
export type HostnameChange = Partial<
  Omit<
    HostnameRow,
    'seq' | 'id' | 'zone' | 'hostname' | 'reversed_name' | 'txt_token' | 'http_token' | 'created_at' | 'version'
  >
>;

const statements = perStore((store) => ({
  activeOfName: store.prepare<[hostname: string, id: string], HostnameRow>(
    "SELECT * FROM custom_hostnames WHERE hostname = ? AND state = 'active' AND id <> ? ORDER BY seq",
  ),
  atOrBelow: store.prepareTuples<
    [from: string, to: string, account: number | null, again: number | null],
    [id: string]
  >(
    `SELECT custom_hostnames.id FROM custom_hostnames JOIN zones ON zones.seq = custom_hostnames.zone
     WHERE custom_hostnames.state IN ('pending', 'active')
       AND custom_hostnames.reversed_name >= ? AND custom_hostnames.reversed_name < ?
       AND (? IS NULL OR zones.account = ?)
     ORDER BY custom_hostnames.seq`,
  ),
  provedBy: store.prepareTuples<[zone: number], [id: string]>(
    'SELECT id FROM custom_hostnames WHERE proof_zone = ? ORDER BY seq',
  ),
  activeAtOrBelow: store.prepare<[from: string, to: string, account: number], HostnameRow>(
    `SELECT custom_hostnames.* FROM custom_hostnames JOIN zones ON zones.seq = custom_hostnames.zone
     WHERE custom_hostnames.reversed_name >= ? AND custom_hostnames.reversed_name < ? AND state = 'active' AND zones.account <> ?
     ORDER BY custom_hostnames.seq`,
  ),
  activeAt: store.prepare<[reversed: string, account: number], HostnameRow>(
    `SELECT custom_hostnames.* FROM custom_hostnames JOIN zones ON zones.seq = custom_hostnames.zone
     WHERE custom_hostnames.reversed_name = ? AND state = 'active' AND zones.account <> ? ORDER BY custom_hostnames.seq`,
  ),
  pendingWith: store.prepareTuples<[zone: number, text: string], [id: string]>(
    `SELECT id FROM custom_hostnames
     WHERE zone = ? AND state = 'pending' AND instr(errors, ?) > 0 ORDER BY seq LIMIT 10000`,
  ),
  idsOfZone: store.prepareTuples<[zone: number], [id: string]>(
    'SELECT id FROM custom_hostnames WHERE zone = ? ORDER BY seq',
  ),
  activeOfZone: store.prepareTuples<[zone: number], [hostname: string]>(
    "SELECT hostname FROM custom_hostnames WHERE zone = ? AND state = 'active' ORDER BY seq",
  ),
  insert: store.prepare<SqlValue[]>(insertion('custom_hostnames', NEW_HOSTNAME)),
  noLater: store.prepare<[jobKind: string, jobKind: string]>(
    `UPDATE custom_hostnames SET next_check_ms = (SELECT run_at FROM jobs WHERE kind = ? AND subject = custom_hostnames.id)
     WHERE next_check_ms > (
       SELECT run_at FROM jobs WHERE kind = ? AND subject = custom_hostnames.id AND lease_owner IS NULL)`,
  ),
}));

export const findHostname = oneRow<[id: string], HostnameRow>('SELECT * FROM custom_hostnames WHERE id = ?');

export const findHostnameByName = oneRow<[zone: number, hostname: string], HostnameRow>(
  'SELECT * FROM custom_hostnames WHERE zone = ? AND hostname = ?',
);

/** Active rows of other zones with the same name. */
export function otherActiveHostnames(store: Store, { hostname, id }: HostnameRow): HostnameRow[] {
  return statements(store).activeOfName.all(hostname, id);
}

/** The rows of a name in all zones, an active one first. */
export const hostnamesOfName = allRows<[hostname: string], HostnameRow>(
  `SELECT * FROM custom_hostnames WHERE hostname = ? ORDER BY state = 'active' DESC, seq`,
);

/** Identifiers of the hostnames at or below a name that are still checked; `account`: only those of one, unless it is null. */
export function checkedHostnamesUnder(store: Store, name: string, account: number | null): string[] {
  return statements(store)
    .atOrBelow.all(...rangeOf(name), account, account)
    .map(([id]) => id);
}

/** Identifiers of the hostnames whose proof depends on a zone here. `zone`: store number. */
export function hostnamesProvedBy(store: Store, zone: number): string[] {
  return statements(store)
    .provedBy.all(zone)
    .map(([id]) => id);
}

/** Bounds of the reversed names at and below a name. */
function rangeOf(name: string): [from: string, to: string] {
  const reversed = reversedName(name);
  return [reversed, afterReversed(reversed)];
}

/** Active hostnames in zones of other accounts at, above and below a name; a wildcard is at the name below which it stands. */
export function rivalHostnames(store: Store, name: string, account: number): HostnameRow[] {
  const { activeAt, activeAtOrBelow } = statements(store);
  const labels = name.split('.');
  const above = labels.slice(1).flatMap((_, i) => activeAt.all(reversedName(labels.slice(i + 1).join('.')), account));
  return [...above, ...activeAtOrBelow.all(...rangeOf(name), account)];
}

/** Identifiers of the hostnames of a zone that are pending with an error that contains `text`; the first 10,000. */
export function pendingHostnamesWith(store: Store, zone: number, text: string): string[] {
  return statements(store)
    .pendingWith.all(zone, text)
    .map(([id]) => id);
}

export function hostnameIdsOfZone(store: Store, zone: number): string[] {
  return statements(store)
    .idsOfZone.all(zone)
    .map(([id]) => id);
}

/** The names of the active hostnames of a zone, without wildcards' `*.`. */
export function activeHostnamesOfZone(store: Store, zone: number): string[] {
  return statements(store)
    .activeOfZone.all(zone)
    .map(([hostname]) => hostname.replace(/^\*\./, ''));
}

export function insertHostname(store: Store, row: NewHostnameRow): void {
  const first = { state: 'pending', errors: '[]', check_number: 0, elsewhere_count: 0, version: 1 } as const;
  const also = { ...first, modified_at: row.created_at, reversed_name: reversedName(row.hostname) };
  statements(store).insert.run(...NEW_HOSTNAME.values({ ...row, ...also }));
}

/** Sets columns of one row and increments its version. Column names come from the type, never from input. */
export function updateHostname(store: Store, seq: number, change: HostnameChange): void {
  setColumns(store, ['custom_hostnames', 'seq'], seq, change, 'version = version + 1');
}

export const removeHostname = runs<[seq: number]>('DELETE FROM custom_hostnames WHERE seq = ?');

/** Brings checks forward that come later than their jobs, which were moved. Call inside a write. */
export function checkByJobs(store: Store, jobKind: string): void {
  statements(store).noLater.run(jobKind, jobKind);
}
