/** Rows of pending orders and their challenges. Times are milliseconds since 1970. */
import { perStore, type Store } from '../driver.js';
import type { RequestRow } from './requests.js';

export interface OrderUnderWay {
  readonly seq: number;
  /** UUID. */
  readonly id: string;
  readonly request: number;
  /** Version of the request when the order was created. */
  readonly version: number;
  readonly authority: string;
  /** Empty while the authority has been asked for the order and its answer is not stored yet. */
  readonly url: string;
  readonly created_at: number;
  readonly expires_at: number;
  /** PKCS #8, sealed; null until the CSR is made. */
  readonly private_key: Uint8Array | null;
  /** PKCS #10, DER. */
  readonly csr: Uint8Array | null;
}

export interface StoredChallengeRow {
  readonly seq: number;
  readonly order_seq: number;
  readonly authorization_url: string;
  readonly url: string;
  readonly type: 'dns-01' | 'http-01';
  readonly identifier: string;
  readonly wildcard: number;
  readonly token: string;
  /** The text of the TXT record, or the body of the HTTP answer. */
  readonly value: string;
  readonly status: 'pending' | 'submitted' | 'valid';
}

export type NewOrderUnderWay = Omit<OrderUnderWay, 'seq' | 'private_key' | 'csr'>;
export type NewChallengeRow = Omit<StoredChallengeRow, 'seq' | 'status'>;

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
  order: store.prepare<[request: number], OrderUnderWay>('SELECT * FROM certificate_orders WHERE request = ?'),
  insert: store.prepare<
    [id: string, request: number, version: number, authority: string, url: string, createdAt: number, expiresAt: number]
  >(
    `INSERT INTO certificate_orders (id, request, version, authority, url, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  ),
  byUrl: store.prepareTuples<[url: string], [seq: number]>('SELECT seq FROM certificate_orders WHERE url = ?'),
  setUrl: store.prepare<[url: string, expiresAt: number, seq: number]>(
    `UPDATE certificate_orders SET url = ?, expires_at = ? WHERE seq = ? AND url = ''`,
  ),
  setRequest: store.prepare<[privateKey: Uint8Array, csr: Uint8Array, seq: number]>(
    'UPDATE certificate_orders SET private_key = ?, csr = ? WHERE seq = ? AND csr IS NULL',
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM certificate_orders WHERE seq = ?'),
  challenges: store.prepare<[order: number], StoredChallengeRow>(
    'SELECT * FROM challenges WHERE order_seq = ? ORDER BY seq',
  ),
  insertChallenge: store.prepare<
    [
      order: number,
      authorizationUrl: string,
      url: string,
      type: string,
      identifier: string,
      wildcard: number,
      token: string,
      value: string,
    ]
  >(
    `INSERT INTO challenges (order_seq, authorization_url, url, type, identifier, wildcard, token, value)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  http: store.prepare<[token: string, identifier: string], HttpChallengeRow>(
    `SELECT value, zone, owner_kind FROM challenges
       JOIN certificate_orders ON certificate_orders.seq = order_seq
       JOIN certificate_requests ON certificate_requests.seq = request
     WHERE token = ? AND identifier = ? AND type = 'http-01' ORDER BY challenges.seq`,
  ),
  setStatus: store.prepare<[status: string, seq: number]>('UPDATE challenges SET status = ? WHERE seq = ?'),
  settle: store.prepare<[authorizationUrl: string]>(
    `UPDATE challenges SET status = 'valid' WHERE authorization_url = ?`,
  ),
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
export function findOrderUnderWay(store: Store, request: number): OrderUnderWay | undefined {
  return statements(store).order.get(request);
}

/** Call inside a write. */
export function insertOrderUnderWay(store: Store, row: NewOrderUnderWay): void {
  const { id, request, version, authority, url, created_at, expires_at } = row;
  statements(store).insert.run(id, request, version, authority, url, created_at, expires_at);
}

/** Whether a request has the order with this URL. */
export function isOrderUnderWay(store: Store, url: string): boolean {
  return statements(store).byUrl.get(url) !== undefined;
}

/** Stores the URL and expiry of an order that has no URL yet. Call inside a write. */
export function setOrderUrl(store: Store, seq: number, url: string, expiresAt: number): void {
  statements(store).setUrl.run(url, expiresAt, seq);
}

/** Stores the key and CSR of an order that has none yet. Call inside a write. */
export function setOrderCsr(store: Store, seq: number, sealedKey: Uint8Array, csr: Uint8Array): void {
  statements(store).setRequest.run(sealedKey, csr, seq);
}

/** Removes the order with its challenges. Call inside a write. */
export function removeOrderUnderWay(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}

/** In the order of their creation. */
export function challengesOfOrder(store: Store, order: number): readonly StoredChallengeRow[] {
  return statements(store).challenges.all(order);
}

/** The challenge of a token for http-01, where an order for this name waits for it. `identifier`: lower case. */
export function findHttpChallenge(store: Store, identifier: string, token: string): HttpChallengeRow | undefined {
  return statements(store).http.get(token, identifier);
}

/** Returns its number. Call inside a write. */
export function insertChallengeRow(store: Store, row: NewChallengeRow): number {
  const { order_seq, authorization_url, url, type, identifier, wildcard, token, value } = row;
  return statements(store).insertChallenge.run(
    order_seq,
    authorization_url,
    url,
    type,
    identifier,
    wildcard,
    token,
    value,
  ).lastInsertRowid;
}

/** Notes that the authority was asked to validate the challenge. Call inside a write. */
export function submitChallenge(store: Store, seq: number): void {
  statements(store).setStatus.run('submitted', seq);
}

/** Notes that control of the name is proved. Call inside a write. */
export function settleChallenges(store: Store, authorizationUrl: string): void {
  statements(store).settle.run(authorizationUrl);
}

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
