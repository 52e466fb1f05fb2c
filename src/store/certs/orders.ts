/** Rows of pending orders and their challenges. Times are milliseconds since 1970. */
import { allRows, column, columns, hasRow, insertion, inserts, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';
import type { RequestRow } from './requests.js';

const ORDER = columns({
  /** UUID. */
  id: column<string>(),
  request: column<number>(),
  /** Version of the request when the order was created. */
  version: column<number>(),
  authority: column<string>(),
  /** Empty while the authority has been asked for the order and its answer is not stored yet. */
  url: column<string>(),
  created_at: column<number>(),
  expires_at: column<number>(),
  /** PKCS #8, sealed; null until the CSR is made. */
  private_key: column<Uint8Array | null>(),
  /** PKCS #10, DER. */
  csr: column<Uint8Array | null>(),
});

export interface OrderUnderWay extends RowOf<typeof ORDER> {
  readonly seq: number;
}

const CHALLENGE = columns({
  order_seq: column<number>(),
  authorization_url: column<string>(),
  url: column<string>(),
  type: column<'dns-01' | 'http-01'>(),
  identifier: column<string>(),
  wildcard: column<number>(),
  token: column<string>(),
  /** The text of the TXT record, or the body of the HTTP answer. */
  value: column<string>(),
  status: column<'pending' | 'submitted' | 'valid'>(),
});

export interface StoredChallengeRow extends RowOf<typeof CHALLENGE> {
  readonly seq: number;
}

const NEW_ORDER = ORDER.without('private_key', 'csr');

const NEW_CHALLENGE = CHALLENGE.without('status');

export type NewChallengeRow = RowOf<typeof NEW_CHALLENGE>;

export interface HttpChallengeRow extends Pick<RequestRow, 'zone' | 'owner_kind'> {
  /** The key authorization (RFC 8555 §8.1). */
  readonly value: string;
}

/** An owner in one of our zones. */
export interface ChallengePlace {
  readonly zone: number;
  readonly ownerKey: Uint8Array;
}

const statements = perStore((store) => ({
  setUrl: store.prepare<[url: string, expiresAt: number, seq: number]>(
    `UPDATE certificate_orders SET url = ?, expires_at = ? WHERE seq = ? AND url = ''`,
  ),
  setRequest: store.prepare<[privateKey: Uint8Array, csr: Uint8Array, seq: number]>(
    'UPDATE certificate_orders SET private_key = ?, csr = ? WHERE seq = ? AND csr IS NULL',
  ),
  insertChallenge: store.prepare<SqlValue[]>(insertion('challenges', NEW_CHALLENGE)),
  http: store.prepare<[token: string, identifier: string], HttpChallengeRow>(
    `SELECT value, zone, owner_kind FROM challenges
       JOIN certificate_orders ON certificate_orders.seq = order_seq
       JOIN certificate_requests ON certificate_requests.seq = request
     WHERE token = ? AND identifier = ? AND type = 'http-01' ORDER BY challenges.seq`,
  ),
  setStatus: store.prepare<[status: string, seq: number]>('UPDATE challenges SET status = ? WHERE seq = ?'),
  insertRecord: store.prepare<[zone: number, ownerKey: Uint8Array, challenge: number]>(
    'INSERT OR IGNORE INTO challenge_records (zone, owner_key, challenge) VALUES (?, ?, ?)',
  ),
  places: store.prepareTuples<[order: number], [zone: number, ownerKey: Uint8Array]>(
    `SELECT DISTINCT zone, owner_key FROM challenge_records JOIN challenges ON challenges.seq = challenge
     WHERE order_seq = ? ORDER BY zone, owner_key`,
  ),
  texts: store.prepareTuples<[zone: number, ownerKey: Uint8Array], [value: string]>(
    // Not a join: this runs for every owner of a write, and hardly any has a challenge. Without one, a join takes ten
    // times as long.
    `SELECT (SELECT value FROM challenges WHERE seq = challenge) FROM challenge_records
     WHERE zone = ? AND owner_key = ?`,
  ),
  owners: store.prepareTuples<[zone: number], [ownerKey: Uint8Array]>(
    'SELECT DISTINCT owner_key FROM challenge_records WHERE zone = ? ORDER BY owner_key',
  ),
}));

/** The pending order of a request. */
export const findOrderUnderWay = oneRow<[request: number], OrderUnderWay>(
  'SELECT * FROM certificate_orders WHERE request = ?',
);

/** Call inside a write. */
export const insertOrderUnderWay = inserts('certificate_orders', NEW_ORDER);

/** Whether a request has the order with this URL. */
export const isOrderUnderWay = hasRow<[url: string]>('SELECT seq FROM certificate_orders WHERE url = ?');

/** Stores the URL and expiry of an order that has no URL yet. Call inside a write. */
export function setOrderUrl(store: Store, seq: number, url: string, expiresAt: number): void {
  statements(store).setUrl.run(url, expiresAt, seq);
}

/** Stores the key and CSR of an order that has none yet. Call inside a write. */
export function setOrderCsr(store: Store, seq: number, sealedKey: Uint8Array, csr: Uint8Array): void {
  statements(store).setRequest.run(sealedKey, csr, seq);
}

/** Removes the order with its challenges. Call inside a write. */
export const removeOrderUnderWay = runs<[seq: number]>('DELETE FROM certificate_orders WHERE seq = ?');

/** In the order of their creation. */
export const challengesOfOrder = allRows<[order: number], StoredChallengeRow>(
  'SELECT * FROM challenges WHERE order_seq = ? ORDER BY seq',
);

/** The challenge of a token for http-01, where an order for this name waits for it. `identifier`: lower case. */
export function findHttpChallenge(store: Store, identifier: string, token: string): HttpChallengeRow | undefined {
  return statements(store).http.get(token, identifier);
}

/** Returns its number. Call inside a write. */
export function insertChallengeRow(store: Store, row: NewChallengeRow): number {
  return statements(store).insertChallenge.run(...NEW_CHALLENGE.values(row)).lastInsertRowid;
}

/** Notes that the authority was asked to validate the challenge. Call inside a write. */
export function submitChallenge(store: Store, seq: number): void {
  statements(store).setStatus.run('submitted', seq);
}

/** Notes that control of the name is proved. Call inside a write. */
export const settleChallenges = runs<[authorizationUrl: string]>(
  `UPDATE challenges SET status = 'valid' WHERE authorization_url = ?`,
);

/** Makes a zone serve the TXT record of a challenge. Call inside a write. */
export function insertChallengeRecord(store: Store, { zone, ownerKey }: ChallengePlace, challenge: number): void {
  statements(store).insertRecord.run(zone, ownerKey, challenge);
}

/** Where the TXT records of an order are served, each place once. */
export function challengePlaces(store: Store, order: number): readonly ChallengePlace[] {
  return statements(store)
    .places.all(order)
    .map(([zone, ownerKey]) => ({ zone, ownerKey: new Uint8Array(ownerKey) }));
}

/** Texts of the challenge TXT records at an owner, each once, sorted. */
export function challengeTexts(store: Store, zone: number, ownerKey: Uint8Array): readonly string[] {
  const rows = statements(store).texts.all(zone, ownerKey);
  return rows.length === 0 ? [] : [...new Set(rows.map(([value]) => value))].sort();
}

/** Owner keys of a zone that have such records, in canonical order. */
export function challengeOwners(store: Store, zone: number): Uint8Array[] {
  return statements(store)
    .owners.all(zone)
    .map(([ownerKey]) => new Uint8Array(ownerKey));
}
