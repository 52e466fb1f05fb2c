/** Zones: their rows, their settings with the defaults for NULL, and which of them are served. */

import {
  allRows,
  allTuples,
  column,
  columns,
  insertion,
  oneRow,
  type RowOf,
  setColumns,
  valueOrZero,
} from '../columns.js';
import { removeDnssecZone } from '../dnssec/zones.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { addRecordSet, dropRecordSet } from '../records/record-sets.js';

export type ZoneStatus = 'initializing' | 'pending' | 'active' | 'moved';
export type ZoneType = 'full' | 'partial' | 'secondary' | 'internal';
export type ZoneMode = 'standard' | 'cdn_only' | 'dns_only';
/**
 * 'service': the apex NS set is that of the service; 'records': it consists of the zone's own NS records, as imported.
 */
export type NameServerMode = 'service' | 'records';

/**
 * What shows that a name is an account's: the operator's word, the delegation, a TXT record. With 'trust' nothing does, but the
 * installation believes who comes first.
 */
export type NameProof = 'operator' | 'delegation' | 'txt' | 'trust';

const ZONE = columns({
  id: column<Uint8Array>(),
  account: column<number>(),
  /** Lower-case ASCII without the final dot. */
  name: column<string>(),
  /** Wire name, lower case. */
  apex: column<Uint8Array>(),
  status: column<ZoneStatus>(),
  served: column<number>(),
  paused: column<number>(),
  /** A secondary zone without a copy that may be served: answers are SERVFAIL. */
  expired: column<number>(),
  type: column<ZoneType>(),
  serial: column<number>(),
  /** Names in presentation form without the final dot; null = default. */
  soa_mname: column<string | null>(),
  soa_rname: column<string | null>(),
  soa_refresh: column<number | null>(),
  soa_retry: column<number | null>(),
  soa_expire: column<number | null>(),
  soa_minimum: column<number | null>(),
  soa_ttl: column<number | null>(),
  ns_ttl: column<number | null>(),
  name_server_mode: column<NameServerMode>(),
  multi_provider: column<number>(),
  flatten_all_cnames: column<number>(),
  foundation_dns: column<number>(),
  secondary_overrides: column<number>(),
  zone_mode: column<ZoneMode>(),
  /** Whether the account has proxied records answered as if they were not proxied. */
  account_dns_only: column<number>(),
  multi_signer: column<number>(),
  /** 1: served with signatures. 2: being signed or unsigned, and served without. Further state is in dnssec_zones. */
  signed: column<number>(),
  /** Whether the edge speaks HTTP/2 and HTTP/3 for the zone, and when that was last set. */
  http2: column<number>(),
  http2_modified_at: column<number | null>(),
  http3: column<number>(),
  http3_modified_at: column<number | null>(),
  /** Whether each custom hostname must lead to a name of its own. */
  unique_targets: column<number>(),
  unique_targets_modified_at: column<number | null>(),
  /** Whether the service keeps a certificate for the apex and the names below it, and from which authority; '': any. */
  universal_certificate: column<number>(),
  universal_authority: column<string>(),
  /** JSON list: the names of the zone's certificates that are deployed and valid. */
  certified_names: column<string>(),
  /** JSON lists of host names. */
  vanity_name_servers: column<string | null>(),
  original_name_servers: column<string | null>(),
  verification_key: column<string | null>(),
  /** What proved that the name is the account's; null: nothing did. */
  proven_by: column<NameProof | null>(),
  proven_at: column<number | null>(),
  /** Since when a proof that was found before is no longer found; null: it was there when it was last looked for. */
  proof_lost_at: column<number | null>(),
  /** JSON list of the installation's name servers to which the zone is to be delegated; null = all of them. */
  name_servers: column<string | null>(),
  /** Labels in reverse, each followed by a dot: the names below begin with it. */
  reversed_name: column<string>(),
  hold_after: column<number | null>(),
  hold_include_subdomains: column<number>(),
  /** Whether there was ever a hold. */
  hold_set: column<number>(),
  record_count: column<number>(),
  /** Number of its set of records (records/record-sets.ts). */
  record_set: column<number>(),
  /** Increases with every change of the zone or its records. */
  version: column<number>(),
  created_at: column<number>(),
  modified_at: column<number>(),
  activated_at: column<number | null>(),
});

export interface ZoneRow extends RowOf<typeof ZONE> {
  readonly seq: number;
}

/** The initial columns of a zone; the others have the defaults of the schema. */
const NEW_ZONE = ZONE.only(
  'id',
  'account',
  'name',
  'apex',
  'status',
  'served',
  'type',
  'serial',
  'name_server_mode',
  'verification_key',
  'proven_by',
  'proven_at',
  'name_servers',
  'created_at',
  'modified_at',
  'activated_at',
  'reversed_name',
  'record_set',
);

export type NewZoneRow = Omit<RowOf<typeof NEW_ZONE>, 'reversed_name' | 'record_set'>;

/** The columns that a use case may set. */
export type ZoneChange = Partial<Omit<ZoneRow, 'seq' | 'id' | 'name' | 'apex' | 'reversed_name' | 'created_at'>>;

/** The defaults for NULL in a zone's settings, in seconds (v4: §8). */
export const ZONE_DEFAULTS = {
  refresh: 10000,
  retry: 2400,
  expire: 604800,
  minimum: 1800,
  soaTtl: 3600,
  nsTtl: 86400,
} as const;

/** The SOA with which a zone is served; names in presentation form without the final dot. */
export interface ZoneSoa {
  readonly mname: string;
  readonly rname: string;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
  readonly ttl: number;
}

/** The default SOA mailbox: `dns` at the domain of the first name server (v4: §8). */
export function defaultMailbox(nameServers: readonly string[]): string {
  const first = nameServers[0] ?? '';
  const dot = first.indexOf('.');
  return dot < 0 ? 'dns' : `dns${first.slice(dot)}`;
}

/** The zone's SOA including defaults. `nameServers` are those of the service, without final dots. */
export function soaOfZone(zone: ZoneRow, nameServers: readonly string[]): ZoneSoa {
  return {
    mname: zone.soa_mname ?? nameServers[0] ?? zone.name,
    rname: zone.soa_rname ?? defaultMailbox(nameServers),
    serial: zone.serial,
    refresh: zone.soa_refresh ?? ZONE_DEFAULTS.refresh,
    retry: zone.soa_retry ?? ZONE_DEFAULTS.retry,
    expire: zone.soa_expire ?? ZONE_DEFAULTS.expire,
    minimum: zone.soa_minimum ?? ZONE_DEFAULTS.minimum,
    ttl: zone.soa_ttl ?? ZONE_DEFAULTS.soaTtl,
  };
}

/** TTL of the NS records that the service adds, in seconds. */
export function nsTtlOfZone(zone: ZoneRow): number {
  return zone.ns_ttl ?? ZONE_DEFAULTS.nsTtl;
}

const statements = perStore((store) => ({
  namesFrom: store.prepareTuples<[from: string, to: string, limit: number], [name: string]>(
    'SELECT DISTINCT name FROM zones WHERE name >= ? AND name < ? ORDER BY name LIMIT ?',
  ),
  idsOfAccount: store.prepareTuples<[account: Uint8Array], [id: Uint8Array]>(
    'SELECT id FROM zones WHERE account = (SELECT seq FROM accounts WHERE id = ?) ORDER BY seq',
  ),
  byName: store.prepare<[name: string], ZoneRow>('SELECT * FROM zones WHERE name = ? ORDER BY served DESC, seq'),
  served: store.prepareTuples<[], [seq: number]>('SELECT seq FROM zones WHERE served = 1 ORDER BY record_count, seq'),
  insert: store.prepare<SqlValue[]>(insertion('zones', NEW_ZONE)),
  remove: store.prepare<[seq: number]>('DELETE FROM zones WHERE seq = ?'),
  belowOfOthers: store.prepare<[from: string, to: string, account: number], ZoneRow>(
    'SELECT * FROM zones WHERE reversed_name > ? AND reversed_name < ? AND account <> ? ORDER BY seq',
  ),
}));

/** A name with its labels in reverse, each followed by a dot, without a leading `*.`. */
export function reversedName(name: string): string {
  const labels = name.split('.').reverse();
  if (labels.at(-1) === '*') labels.pop();
  return `${labels.join('.')}.`;
}

/** What comes after all names that begin with a reversed name: the dot at its end, and the octet after the dot. */
export function afterReversed(reversed: string): string {
  return `${reversed.slice(0, -1)}/`;
}

/** The zones of other accounts below a name in lower-case ASCII. */
export function zonesOfOthersBelow(store: Store, name: string, account: number): ZoneRow[] {
  const reversed = reversedName(name);
  return statements(store).belowOfOthers.all(reversed, afterReversed(reversed), account);
}

/** Names of zones that begin with a text in lower case, in the order of their octets. */
export function zoneNamesFrom(store: Store, beginning: string, most: number): string[] {
  // Names are ASCII.
  return statements(store)
    .namesFrom.all(beginning, `${beginning}\u007f`, most)
    .map(([name]) => name);
}

export const findZone = oneRow<[seq: number], ZoneRow>('SELECT * FROM zones WHERE seq = ?');

export const findZoneById = oneRow<[id: Uint8Array], ZoneRow>('SELECT * FROM zones WHERE id = ?');

/** The zone with a name in lower-case ASCII. If several accounts have it, the served one. */
export function findZoneByName(store: Store, name: string): ZoneRow | undefined {
  return statements(store).byName.get(name);
}

/** Store number of the zone that is served under a name. */
export function servedZoneOfName(store: Store, name: string): number | undefined {
  const zone = findZoneByName(store, name);
  return zone?.served === 1 ? zone.seq : undefined;
}

/** The zones with a name in all accounts, the served one first. */
export function zonesOfName(store: Store, name: string): ZoneRow[] {
  return statements(store).byName.all(name);
}

/** Identifiers of an account's zones, the oldest first. */
export function zoneIdsOfAccount(store: Store, account: Uint8Array): Uint8Array[] {
  return statements(store)
    .idsOfAccount.all(account)
    .map(([id]) => id);
}

/** The oldest zones of an account whose `account_dns_only` is different, with the number of their records. */
export const zonesUnlikeAccount = allTuples<
  [account: number, dnsOnly: number, most: number],
  readonly [seq: number, records: number]
>('SELECT seq, record_count FROM zones WHERE account = ? AND account_dns_only <> ? ORDER BY seq LIMIT ?');

/** Returns the row number of the new zone. */
export function insertZone(store: Store, row: NewZoneRow): number {
  const own = { reversed_name: reversedName(row.name), record_set: addRecordSet(store, row.created_at) };
  return statements(store).insert.run(...NEW_ZONE.values({ ...row, ...own })).lastInsertRowid;
}

/**
 * Removes the zone with everything that belongs to it. False when there are so many records or signatures that their rows
 * remain for now; they belong to no zone and are removed in parts.
 */
export function removeZone(store: Store, seq: number): boolean {
  const zone = findZone(store, seq);
  const isUnsigned = removeDnssecZone(store, seq);
  statements(store).remove.run(seq);
  return (!zone || dropRecordSet(store, zone.record_set)) && isUnsigned;
}

/** Sets columns of one zone. Column names come from the type, never from input. */
export function updateZone(store: Store, seq: number, change: ZoneChange): void {
  setColumns(store, ['zones', 'seq'], seq, change);
}

/** Zones with higher store numbers, in their order. */
export const zonesAfter = allRows<[seq: number, limit: number], ZoneRow>(
  'SELECT * FROM zones WHERE seq > ? ORDER BY seq LIMIT ?',
);

/** Store numbers of all served zones. */
export function servedZones(store: Store): number[] {
  return statements(store)
    .served.all()
    .map(([seq]) => seq);
}

/** A served zone and its account (store numbers). */
export interface ServedZone {
  readonly zone: number;
  readonly account: number;
}

/** Served zones of each account, no more than so many of one. */
export const servedZonesOfAccounts = allRows<
  [most: number],
  ServedZone
>(`SELECT zone, account FROM (SELECT seq AS zone, account, row_number() OVER (PARTITION BY account ORDER BY seq) AS place
       FROM zones WHERE served = 1) WHERE place <= ? ORDER BY account, zone`);

/** Number of records of a zone. */
export const countRecords = valueOrZero<[zone: number]>('SELECT record_count FROM zones WHERE seq = ?');

/** Number of records in all served zones. */
export const countServedRecords = valueOrZero<[]>('SELECT sum(record_count) FROM zones WHERE served = 1');

/** The zone, if it exists and is served. */
export function findServedZone(store: Store, seq: number): ZoneRow | undefined {
  const zone = findZone(store, seq);
  return zone?.served === 1 ? zone : undefined;
}
