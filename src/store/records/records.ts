/**
 * Records, which clients edit. `owner_key` sorts in canonical order (RFC 4034 §6.1): the rows of one owner are
 * adjacent, a zone is read in the order of compilation, and the descendants of a name are one range.
 */

import { createHash } from 'node:crypto';
import { equalBytes } from '../../base/bytes.js';
import { descendantsEnd } from '../../dns/name.js';
import { proxiedBalancerOwners } from '../balancing/load-balancers.js';
import { allRows, column, columns, type RowOf, runs, valueIfAny } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import { amongProxied, byOwner, byType } from './owner-index.js';

/** What a client edits, or a draft fills in, with the identifier. */
export const RECORD = columns({
  id: column<Uint8Array>(),
  /** Relative to the apex, see dns/name.ts. */
  owner_key: column<Uint8Array>(),
  /** Lower-case ASCII FQDN without the final dot, as the API shows it. */
  name: column<string>(),
  type: column<number>(),
  /** The API's text form; for TXT exactly as the client sent it. */
  content: column<string>(),
  rdata: column<Uint8Array>(),
  rdata_key: column<Uint8Array>(),
  /** Seconds; 1 = automatic. */
  ttl: column<number>(),
  proxied: column<number>(),
  /** JSON object of {@link RecordSettings}; null when empty. */
  settings: column<string | null>(),
  comment: column<string | null>(),
  /** JSON list of `name:value`; null when empty. */
  tags: column<string | null>(),
  private_routing: column<number | null>(),
  created_at: column<number>(),
  modified_at: column<number>(),
  comment_modified_at: column<number | null>(),
  tags_modified_at: column<number | null>(),
});

export interface RecordRow extends RowOf<typeof RECORD> {
  readonly seq: number;
  /** Store number of the zone. */
  readonly zone: number;
}

export type NewRecordRow = Omit<RecordRow, 'seq'>;

export interface RecordSettings {
  readonly ipv4_only?: boolean;
  readonly ipv6_only?: boolean;
  readonly flatten_cname?: boolean;
  /** Where the edge connects to, instead of the scheme's port. */
  readonly origin_port?: number;
  /** On A and AAAA: a PTR record is maintained for it. On PTR: it is maintained for an address record. */
  readonly ptr?: boolean;
  /** Microseconds since 1970 at which the service removes it. */
  readonly expires_at?: number;
}

/** Longer duplicate keys are stored as SHA-256 hashes, so that the index stays small. */
const LONGEST_PLAIN_KEY = 64;

/** The value of `rdata_key` for a duplicate key. */
export function rdataKeyOf(duplicateKey: Uint8Array): Uint8Array {
  return duplicateKey.length <= LONGEST_PLAIN_KEY ? duplicateKey : createHash('sha256').update(duplicateKey).digest();
}

/** The set of records of a zone, by its number. */
export const SET_OF_ZONE = '(SELECT record_set FROM zones WHERE seq = ?)';

/** The columns of a {@link RecordRow}; the value is the number of its zone. */
export const COLUMNS_OF_ZONE = '? AS zone, record_rows.*';

/** Sorts after every key: owner keys never begin with 0xff 0xff, because no label has 255 octets. */
const LAST_KEY = Buffer.alloc(256, 0xff);

const statements = perStore((store) => ({
  byId: store.prepare<[zone: number, id: Uint8Array, inZone: number], RecordRow>(
    // Without the plus, SQLite might read the whole set: it does not know that an identifier has one row or two.
    `SELECT ${COLUMNS_OF_ZONE} FROM record_rows WHERE id = ? AND +record_set = ${SET_OF_ZONE}`,
  ),
  findSame: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdataKey: Uint8Array], RecordRow>(
    'SELECT * FROM records WHERE zone = ? AND owner_key = ? AND type = ? AND rdata_key = ?',
  ),
  ofZone: store.prepare<[zone: number], RecordRow>(
    'SELECT * FROM records WHERE zone = ? ORDER BY owner_key, type, rdata_key',
  ),
  ofType: store.prepare<[zone: number, inZone: number, type: number], RecordRow>(
    `SELECT ${COLUMNS_OF_ZONE} FROM record_rows ${byOwner(store)}
     WHERE record_set = ${SET_OF_ZONE} AND type = ? ORDER BY owner_key, rdata_key`,
  ),
  proxiedOwners: store.prepareTuples<[zone: number, limit: number], [ownerKey: Uint8Array]>(
    `SELECT DISTINCT owner_key FROM record_rows ${amongProxied(store)} WHERE record_set = ${SET_OF_ZONE} AND proxied = 1 LIMIT ?`,
  ),
  tally: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [type: number, records: number, octets: number]>(
    `SELECT type, count(*), sum(length(rdata)) FROM record_rows WHERE record_set = ${SET_OF_ZONE} AND owner_key = ?
     GROUP BY type`,
  ),
  // By their types, of which the index of data knows the rows.
  ofTypes: store.prepare<[zone: number, types: string, limit: number], Pick<RecordRow, 'name' | 'type' | 'rdata'>>(
    `SELECT name, type, rdata FROM record_rows ${byType(store)} WHERE record_set = ${SET_OF_ZONE}
     AND type IN (SELECT value FROM json_each(?)) LIMIT ?`,
  ),
  types: store.prepareTuples<[zone: number], [type: number]>(
    `SELECT DISTINCT type FROM record_rows WHERE record_set = ${SET_OF_ZONE}`,
  ),
  between: store.prepareTuples<[zone: number, after: Uint8Array, before: Uint8Array], [number]>(
    `SELECT 1 FROM record_rows WHERE record_set = ${SET_OF_ZONE} AND owner_key > ? AND owner_key < ? LIMIT 1`,
  ),
}));

/** The columns that say where a row stands in the indexes, and those that may change while it stays there. */
const PLACE = RECORD.only('owner_key', 'name', 'type', 'rdata_key');
const CONTENT = RECORD.without('id', 'owner_key', 'name', 'type', 'rdata_key', 'created_at');

/** Apart from those that read, because the past (past-records.ts) has only those. */
const writes = perStore((store) => ({
  insert: store.prepare<[zone: number, ...SqlValue[]]>(
    `INSERT INTO record_rows (record_set, ${RECORD.list}) VALUES (${SET_OF_ZONE}, ${RECORD.marks})`,
  ),
  update: store.prepare<SqlValue[]>(
    `UPDATE record_rows SET ${PLACE.assignments}, ${CONTENT.assignments} WHERE seq = ?`,
  ),
  rewrite: store.prepare<SqlValue[]>(`UPDATE record_rows SET ${CONTENT.assignments} WHERE seq = ?`),
  // Where a proxied record leads does not show in DNS, so edge processes are told, as triggers do for other edits. A trigger for
  // insertions would be entered for each row of an import.
  forgetOrigins: store.prepare<[zone: string]>("DELETE FROM edge_changes WHERE kind = 'zone' AND subject = ?"),
  noteOrigins: store.prepare<[zone: string]>("INSERT INTO edge_changes (kind, subject) VALUES ('zone', ?)"),
}));

/** A record of the zone by its identifier. */
export function findRecord(store: Store, zone: number, id: Uint8Array): RecordRow | undefined {
  return statements(store).byId.get(zone, id, zone);
}

/** The record of an owner with this type and data; there is no more than one. */
export function findSameRecord(
  store: Store,
  { zone, owner_key, type, rdata_key }: Pick<RecordRow, 'zone' | 'owner_key' | 'type' | 'rdata_key'>,
): RecordRow | undefined {
  return statements(store).findSame.get(zone, owner_key, type, rdata_key);
}

/** Ordered by type and data. */
export const recordsOfOwner = allRows<[zone: number, ownerKey: Uint8Array], RecordRow>(
  'SELECT * FROM records WHERE zone = ? AND owner_key = ? ORDER BY type, rdata_key',
);

/** In canonical order, row by row. The handle must not write until the iteration has ended. */
export function recordsOfZone(store: Store, zone: number): IterableIterator<RecordRow> {
  return statements(store).ofZone.iterate(zone);
}

/** Records of one type in canonical order, row by row like {@link recordsOfZone}. */
export function recordsOfType(store: Store, zone: number, type: number): IterableIterator<RecordRow> {
  return statements(store).ofType.iterate(zone, zone, type);
}

/** Some records of these types, no more than `limit`, in no particular order. */
export function someOfTypes(
  store: Store,
  zone: number,
  types: readonly number[],
  limit: number,
): Pick<RecordRow, 'name' | 'type' | 'rdata'>[] {
  return statements(store).ofTypes.all(zone, JSON.stringify(types), limit);
}

/** The types of a zone's records, in no particular order. */
export function typesOfZone(store: Store, zone: number): number[] {
  return statements(store)
    .types.all(zone)
    .map(([type]) => type);
}

/**
 * Owners that have a proxied record or a proxied load balancer, no more than `limit`, in no particular order; those that have both may
 * come twice.
 */
export function proxiedOwners(store: Store, zone: number, limit: number): Uint8Array[] {
  const ofRecords = statements(store).proxiedOwners.all(zone, limit);
  const left = limit - ofRecords.length;
  const others = left > 0 ? proxiedBalancerOwners(store, zone, left) : [];
  return [...ofRecords.map(([ownerKey]) => ownerKey), ...others];
}

/** The NS records of one owner. */
export const nameServersAt = allRows<
  [zone: number, ownerKey: Uint8Array],
  Pick<RecordRow, 'id' | 'rdata'>
>(`SELECT id, rdata FROM record_rows WHERE record_set = ${SET_OF_ZONE} AND owner_key = ? AND type = 2
     ORDER BY rdata_key`);

/** The first wildcard that has a record of this type. */
export const findWildcardWith = valueIfAny<
  [zone: number, type: number],
  Uint8Array
>(`SELECT owner_key FROM record_rows WHERE record_set = ${SET_OF_ZONE} AND type = ?
     AND (owner_key = X'2A00' OR substr(owner_key, -3) = X'002A00') ORDER BY owner_key LIMIT 1`);

/** Number of records and octets of their rdata, by type. */
export function tallyOfOwner(
  store: Store,
  zone: number,
  ownerKey: Uint8Array,
): [type: number, { records: number; octets: number }][] {
  return statements(store)
    .tally.all(zone, ownerKey)
    .map(([type, records, octets]) => [type, { records, octets }]);
}

/** Owner and type of the records from one owner key up to, but not including, another one; no more than `limit`. */
export const recordsBetween = allRows<
  [zone: number, from: Uint8Array, to: Uint8Array, limit: number],
  Pick<RecordRow, 'owner_key' | 'type'>
>(`SELECT owner_key, type FROM record_rows
     WHERE record_set = ${SET_OF_ZONE} AND owner_key >= ? AND owner_key < ? LIMIT ?`);

/** Adds a record to a zone. */
export function insertRecord(store: Store, row: NewRecordRow): void {
  writes(store).insert.run(row.zone, ...RECORD.values(row));
  if (row.proxied === 0) return;
  const { forgetOrigins, noteOrigins } = writes(store);
  forgetOrigins.run(String(row.zone));
  noteOrigins.run(String(row.zone));
}

/** Writes all columns of a row that may change; identifier, zone and creation time stay. */
export function updateRecord(store: Store, before: RecordRow, row: RecordRow): void {
  const { update, rewrite } = writes(store);
  if (isSamePlace(before, row)) rewrite.run(...CONTENT.values(row), row.seq);
  else update.run(...PLACE.values(row), ...CONTENT.values(row), row.seq);
}

type Place = Pick<NewRecordRow, 'owner_key' | 'type' | 'rdata_key'>;

/** Whether a row stays in its place in the indexes, so that no other row can be in its way. */
export function isSamePlace(before: Place, after: Place): boolean {
  if (before.type !== after.type || !equalBytes(before.owner_key, after.owner_key)) return false;
  return equalBytes(before.rdata_key, after.rdata_key);
}

export const removeRecord = runs<[seq: number]>('DELETE FROM record_rows WHERE seq = ?');

/** Whether any row exists below an owner. */
export function hasDescendants(store: Store, zone: number, ownerKey: Uint8Array): boolean {
  const end = descendantsEnd(ownerKey) ?? LAST_KEY;
  return statements(store).between.get(zone, ownerKey, end) !== undefined;
}

/** The settings object of a row; `{}` when it has none. */
export function parseSettings(text: string | null): RecordSettings {
  return text === null ? {} : (JSON.parse(text) as RecordSettings);
}

export function parseTags(text: string | null): string[] {
  return text === null ? [] : (JSON.parse(text) as string[]);
}
