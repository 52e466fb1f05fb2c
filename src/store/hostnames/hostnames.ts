/** Rows of custom hostnames. Times ending in `_ms` are milliseconds since 1970, the others microseconds. */
import { perStore, type SqlValue, type Statement, type Store } from '../driver.js';
import { afterReversed, reversedName } from '../zones/zones.js';

export const HOSTNAME_STATES = ['pending', 'active', 'blocked', 'moved'] as const;
export type HostnameState = (typeof HOSTNAME_STATES)[number];

export interface HostnameRow {
  readonly seq: number;
  /** A UUID. */
  readonly id: string;
  /** Store number. */
  readonly zone: number;
  /** A-labels, lower case, without the final dot; may begin with `*.`. */
  readonly hostname: string;
  readonly state: HostnameState;
  readonly txt_token: string;
  readonly http_token: string;
  /** JSON list of texts. */
  readonly errors: string;
  /** JSON of the requested certificate; null = no certificate. */
  readonly ssl: string | null;
  /** JSON object of texts. */
  readonly metadata: string | null;
  readonly origin: string | null;
  readonly origin_sni: string | null;
  /** Number of scheduled checks that were run. */
  readonly check_number: number;
  /** Null: no more checks. */
  readonly next_check_ms: number | null;
  /** Consecutive checks in which an active name led elsewhere, and when the first one was. */
  readonly elsewhere_count: number;
  readonly elsewhere_ms: number | null;
  /** When it was last seen to lead here; null = never. */
  readonly pointed_at: number | null;
  readonly activated_at: number | null;
  readonly activated_by: string | null;
  /** Store number of the zone here whose records proved it; null: it was proven outside. */
  readonly proof_zone: number | null;
  /** Labels in reverse without `*`, each followed by a dot. */
  readonly reversed_name: string;
  readonly moved_at: number | null;
  readonly created_at: number;
  readonly modified_at: number;
  readonly version: number;
}

export type NewHostnameRow = Pick<
  HostnameRow,
  | 'id'
  | 'zone'
  | 'hostname'
  | 'txt_token'
  | 'http_token'
  | 'ssl'
  | 'metadata'
  | 'origin'
  | 'origin_sni'
  | 'next_check_ms'
  | 'created_at'
>;

/** The columns that a use case may set. */
export type HostnameChange = Partial<
  Omit<
    HostnameRow,
    'seq' | 'id' | 'zone' | 'hostname' | 'reversed_name' | 'txt_token' | 'http_token' | 'created_at' | 'version'
  >
>;

const statements = perStore((store) => ({
  byId: store.prepare<[id: string], HostnameRow>('SELECT * FROM custom_hostnames WHERE id = ?'),
  byName: store.prepare<[zone: number, hostname: string], HostnameRow>(
    'SELECT * FROM custom_hostnames WHERE zone = ? AND hostname = ?',
  ),
  activeOfName: store.prepare<[hostname: string, id: string], HostnameRow>(
    "SELECT * FROM custom_hostnames WHERE hostname = ? AND state = 'active' AND id <> ? ORDER BY seq",
  ),
  ofName: store.prepare<[hostname: string], HostnameRow>(
    `SELECT * FROM custom_hostnames WHERE hostname = ? ORDER BY state = 'active' DESC, seq`,
  ),
  atOrBelow: store.prepareTuples<[from: string, to: string], [id: string]>(
    `SELECT id FROM custom_hostnames
     WHERE state IN ('pending', 'active') AND reversed_name >= ? AND reversed_name < ? ORDER BY seq`,
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
  countOfAccount: store.prepareTuples<[account: number], [number]>(
    'SELECT count(*) FROM custom_hostnames WHERE zone IN (SELECT seq FROM zones WHERE account = ?)',
  ),
  insert: store.prepare<
    [
      id: string,
      zone: number,
      hostname: string,
      txtToken: string,
      httpToken: string,
      ssl: string | null,
      metadata: string | null,
      origin: string | null,
      originSni: string | null,
      nextCheckMs: number | null,
      createdAt: number,
      modifiedAt: number,
      reversedName: string,
    ]
  >(
    `INSERT INTO custom_hostnames (id, zone, hostname, state, txt_token, http_token, errors, ssl, metadata, origin,
       origin_sni, check_number, next_check_ms, elsewhere_count, created_at, modified_at, reversed_name, version)
     VALUES (?, ?, ?, 'pending', ?, ?, '[]', ?, ?, ?, ?, 0, ?, 0, ?, ?, ?, 1)`,
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM custom_hostnames WHERE seq = ?'),
  noLater: store.prepare<[jobKind: string, jobKind: string]>(
    `UPDATE custom_hostnames SET next_check_ms = (SELECT run_at FROM jobs WHERE kind = ? AND subject = custom_hostnames.id)
     WHERE next_check_ms > (
       SELECT run_at FROM jobs WHERE kind = ? AND subject = custom_hostnames.id AND lease_owner IS NULL)`,
  ),
}));

export function findHostname(store: Store, id: string): HostnameRow | undefined {
  return statements(store).byId.get(id);
}

export function findHostnameByName(store: Store, zone: number, hostname: string): HostnameRow | undefined {
  return statements(store).byName.get(zone, hostname);
}

/** Active rows of other zones with the same name. */
export function otherActiveHostnames(store: Store, { hostname, id }: HostnameRow): HostnameRow[] {
  return statements(store).activeOfName.all(hostname, id);
}

/** The rows of a name in all zones, an active one first. */
export function hostnamesOfName(store: Store, hostname: string): HostnameRow[] {
  return statements(store).ofName.all(hostname);
}

/** Identifiers of the hostnames at or below a name that are still checked. */
export function checkedHostnamesUnder(store: Store, name: string): string[] {
  return statements(store)
    .atOrBelow.all(...rangeOf(name))
    .map(([id]) => id);
}

/** Identifiers of the hostnames whose proof depends on a zone here. `zone`: store number. */
export function hostnamesProvedBy(store: Store, zone: number): string[] {
  return statements(store)
    .provedBy.all(zone)
    .map(([id]) => id);
}

/** Bounds of the reversed names at and below a name; the root is `.`. */
function rangeOf(name: string): [from: string, to: string] {
  if (name === '.') return ['', '\u{10ffff}'];
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

/** Number of hostnames in all zones of an account. */
export function countHostnamesOfAccount(store: Store, account: number): number {
  return statements(store).countOfAccount.get(account)![0];
}

export function insertHostname(store: Store, row: NewHostnameRow): void {
  statements(store).insert.run(
    row.id,
    row.zone,
    row.hostname,
    row.txt_token,
    row.http_token,
    row.ssl,
    row.metadata,
    row.origin,
    row.origin_sni,
    row.next_check_ms,
    row.created_at,
    row.created_at,
    reversedName(row.hostname),
  );
}

const updates = perStore(() => new Map<string, Statement<SqlValue[], unknown>>());

/** Sets columns of one row and increments its version. Column names come from the type, never from input. */
export function updateHostname(store: Store, seq: number, change: HostnameChange): void {
  const columns = Object.keys(change);
  if (columns.length === 0) return;
  const assignments = columns.map((column) => `${column} = ?`).join(', ');
  let update = updates(store).get(assignments);
  if (!update) {
    update = store.prepare<SqlValue[]>(
      `UPDATE custom_hostnames SET ${assignments}, version = version + 1 WHERE seq = ?`,
    );
    updates(store).set(assignments, update);
  }
  update.run(...(Object.values(change) as SqlValue[]), seq);
}

export function removeHostname(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}

/** Brings checks forward that come later than their jobs, which were moved. Call inside a write. */
export function checkByJobs(store: Store, jobKind: string): void {
  statements(store).noLater.run(jobKind, jobKind);
}
