/**
 * Records: what clients edit. Rows of one owner stand together and owners stand in canonical order (RFC 4034 §6.1), because
 * `owner_key` sorts that way; so a zone is read in the order it is compiled in, and descendants of a name are one range.
 */
import { createHash } from 'node:crypto';
import { descendantsEnd } from '../../dns/name.js';
import { perStore, type Store } from '../driver.js';

export interface RecordRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number of the zone. */
  readonly zone: number;
  /** Relative to the apex, see dns/name.ts. */
  readonly owner_key: Uint8Array;
  /** Lower-case ASCII FQDN without final dot, as the API shows it. */
  readonly name: string;
  readonly type: number;
  /** The API's text form; for TXT exactly what was sent. */
  readonly content: string;
  readonly rdata: Uint8Array;
  readonly rdata_key: Uint8Array;
  /** Seconds; 1 = automatic. */
  readonly ttl: number;
  readonly proxied: number;
  /** JSON object of {@link RecordSettings}; null when empty. */
  readonly settings: string | null;
  readonly comment: string | null;
  /** JSON list of `name:value`; null when empty. */
  readonly tags: string | null;
  readonly private_routing: number | null;
  readonly created_at: number;
  readonly modified_at: number;
  readonly comment_modified_at: number | null;
  readonly tags_modified_at: number | null;
}

export type NewRecordRow = Omit<RecordRow, 'seq'>;

export interface RecordSettings {
  readonly ipv4_only?: boolean;
  readonly ipv6_only?: boolean;
  readonly flatten_cname?: boolean;
}

/** Longer duplicate keys are stored as their SHA-256, so that the index stays small. */
const LONGEST_PLAIN_KEY = 64;

/** What is stored in `rdata_key` for a type's duplicate key. */
export function rdataKeyOf(duplicateKey: Uint8Array): Uint8Array {
  return duplicateKey.length <= LONGEST_PLAIN_KEY ? duplicateKey : createHash('sha256').update(duplicateKey).digest();
}

const COLUMNS = `id, zone, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, settings, comment, tags,
  private_routing, created_at, modified_at, comment_modified_at, tags_modified_at`;

/** Every key sorts before it: owner keys never begin with 0xff 0xff (a label of 255 octets cannot be). */
const LAST_KEY = Buffer.alloc(256, 0xff);

export const recordStatements = perStore((store) => ({
  byId: store.prepare<[id: Uint8Array, zone: number], RecordRow>('SELECT * FROM records WHERE id = ? AND zone = ?'),
  ofOwner: store.prepare<[zone: number, ownerKey: Uint8Array], RecordRow>(
    'SELECT * FROM records WHERE zone = ? AND owner_key = ? ORDER BY type, rdata_key',
  ),
  findSame: store.prepare<[zone: number, ownerKey: Uint8Array, type: number, rdataKey: Uint8Array], RecordRow>(
    'SELECT * FROM records WHERE zone = ? AND owner_key = ? AND type = ? AND rdata_key = ?',
  ),
  insert: store.prepare<
    [
      Uint8Array,
      number,
      Uint8Array,
      string,
      number,
      string,
      Uint8Array,
      Uint8Array,
      number,
      number,
      string | null,
      string | null,
      string | null,
      number | null,
      number,
      number,
      number | null,
      number | null,
    ]
  >(`INSERT INTO records (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
  /** A record as an import writes it; a second one with the same owner, type and data is left out. */
  insertImported: store.prepare<
    [
      id: Uint8Array,
      zone: number,
      ownerKey: Uint8Array,
      name: string,
      type: number,
      content: string,
      rdata: Uint8Array,
      rdataKey: Uint8Array,
      ttl: number,
      proxied: number,
      settings: string | null,
      comment: string | null,
      tags: string | null,
      createdAt: number,
      modifiedAt: number,
      commentModifiedAt: number | null,
      tagsModifiedAt: number | null,
    ]
  >(
    `INSERT INTO records (id, zone, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, settings, comment, tags,
       created_at, modified_at, comment_modified_at, tags_modified_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (zone, owner_key, type, rdata_key) DO NOTHING`,
  ),
  update: store.prepare<
    [
      Uint8Array,
      string,
      number,
      string,
      Uint8Array,
      Uint8Array,
      number,
      number,
      string | null,
      string | null,
      string | null,
      number | null,
      number,
      number | null,
      number | null,
      number,
    ]
  >(
    `UPDATE records SET owner_key = ?, name = ?, type = ?, content = ?, rdata = ?, rdata_key = ?, ttl = ?, proxied = ?,
       settings = ?, comment = ?, tags = ?, private_routing = ?, modified_at = ?, comment_modified_at = ?,
       tags_modified_at = ? WHERE seq = ?`,
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM records WHERE seq = ?'),
  removeZone: store.prepare<[zone: number]>('DELETE FROM records WHERE zone = ?'),
  count: store.prepareTuples<[zone: number], [number]>('SELECT count(*) FROM records WHERE zone = ?'),
  countOwner: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [number]>(
    'SELECT count(*) FROM records WHERE zone = ? AND owner_key = ?',
  ),
  /**
   * RRsets that rules about whole sets may concern: of more than so many records, or not written one right after the other.
   * The index alone answers it.
   */
  notableSets: store.prepareTuples<[zone: number, atLeast: number], [ownerKey: Uint8Array, type: number]>(
    `SELECT owner_key, type FROM records WHERE zone = ? GROUP BY owner_key, type
     HAVING count(*) > ? OR count(*) <> max(seq) - min(seq) + 1`,
  ),
  /** Octets of one RRset, and its lowest TTL when there are several; 1 counts as the automatic TTL. */
  setFacts: store.prepareTuples<
    [overhead: number, automatic: number, zone: number, ownerKey: Uint8Array, type: number],
    [name: string, octets: number, ttl: number, ttls: number, lowest: number]
  >(
    // Beside a single min() the bare columns are those of the row it was found in (SQLite, "Bare columns in an aggregate").
    `SELECT name, sum(length(rdata) + ?), ttl, count(DISTINCT ttl), min(CASE ttl WHEN 1 THEN ? ELSE ttl END)
     FROM records WHERE zone = ? AND owner_key = ? AND type = ?`,
  ),
  setTtl: store.prepare<[ttl: number, zone: number, ownerKey: Uint8Array, type: number]>(
    'UPDATE records SET ttl = ? WHERE zone = ? AND owner_key = ? AND type = ?',
  ),
  ofZone: store.prepare<[zone: number], RecordRow>(
    'SELECT * FROM records WHERE zone = ? ORDER BY owner_key, type, rdata_key',
  ),
  ofType: store.prepare<[zone: number, type: number], RecordRow>(
    'SELECT * FROM records INDEXED BY records_owner WHERE zone = ? AND type = ? ORDER BY owner_key, rdata_key',
  ),
  proxiedOwners: store.prepareTuples<[zone: number, limit: number], [ownerKey: Uint8Array]>(
    'SELECT DISTINCT owner_key FROM records WHERE zone = ? AND proxied = 1 LIMIT ?',
  ),
  nameServersAt: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [id: Uint8Array, rdata: Uint8Array]>(
    'SELECT id, rdata FROM records WHERE zone = ? AND owner_key = ? AND type = 2 ORDER BY rdata_key',
  ),
  /** From an owner key on, up to another one. */
  below: store.prepareTuples<
    [zone: number, from: Uint8Array, to: Uint8Array, limit: number],
    [ownerKey: Uint8Array, type: number]
  >('SELECT owner_key, type FROM records WHERE zone = ? AND owner_key >= ? AND owner_key < ? LIMIT ?'),
  types: store.prepareTuples<[zone: number], [type: number]>('SELECT DISTINCT type FROM records WHERE zone = ?'),
  between: store.prepareTuples<[zone: number, after: Uint8Array, before: Uint8Array], [number]>(
    'SELECT 1 FROM records WHERE zone = ? AND owner_key > ? AND owner_key < ? LIMIT 1',
  ),
}));

export function insertRecord(store: Store, row: NewRecordRow): void {
  recordStatements(store).insert.run(
    row.id,
    row.zone,
    row.owner_key,
    row.name,
    row.type,
    row.content,
    row.rdata,
    row.rdata_key,
    row.ttl,
    row.proxied,
    row.settings,
    row.comment,
    row.tags,
    row.private_routing,
    row.created_at,
    row.modified_at,
    row.comment_modified_at,
    row.tags_modified_at,
  );
}

/** Writes all columns of a row that may change; identity, zone and creation time stay. */
export function updateRecord(store: Store, row: RecordRow): void {
  recordStatements(store).update.run(
    row.owner_key,
    row.name,
    row.type,
    row.content,
    row.rdata,
    row.rdata_key,
    row.ttl,
    row.proxied,
    row.settings,
    row.comment,
    row.tags,
    row.private_routing,
    row.modified_at,
    row.comment_modified_at,
    row.tags_modified_at,
    row.seq,
  );
}

export interface SetFacts {
  readonly name: string;
  /** Octets of the records, `overhead` counted for each. */
  readonly octets: number;
  /** The lowest TTL, when the records differ. */
  readonly lowestTtl: number | undefined;
}

export function factsOfSet(
  store: Store,
  set: { readonly zone: number; readonly ownerKey: Uint8Array; readonly type: number },
  overhead: number,
  automatic: number,
): SetFacts {
  const { zone, ownerKey, type } = set;
  const [name, octets, ttl, ttls] = recordStatements(store).setFacts.get(overhead, automatic, zone, ownerKey, type)!;
  return { name, octets, lowestTtl: ttls > 1 ? ttl : undefined };
}

/** Whether any row stands below an owner. */
export function hasDescendants(store: Store, zone: number, ownerKey: Uint8Array): boolean {
  const end = descendantsEnd(ownerKey) ?? LAST_KEY;
  return recordStatements(store).between.get(zone, ownerKey, end) !== undefined;
}

/** The settings object of a row; `{}` when it has none. */
export function parseSettings(text: string | null): RecordSettings {
  return text === null ? {} : (JSON.parse(text) as RecordSettings);
}

export function parseTags(text: string | null): string[] {
  return text === null ? [] : (JSON.parse(text) as string[]);
}
