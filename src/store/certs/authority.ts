/** Rows of the built-in certificate authority: issuers, orders with their authorizations and challenges, certificates. */

import { allRows, hasRow, oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface IssuerRow {
  readonly id: Uint8Array;
  /** `root`, or the name of an authority. */
  readonly name: string;
  /** DER. */
  readonly certificate: Uint8Array;
  /** PKCS #8, sealed by the vault for the row of `id`. */
  readonly private_key: Uint8Array;
  readonly not_after: number;
}

export interface OrderRow {
  readonly id: Uint8Array;
  readonly authority: string;
  readonly status: 'pending' | 'ready' | 'valid' | 'invalid';
  /** JSON list. */
  readonly names: string;
  readonly profile: string;
  readonly replaces: string | null;
  /** When the certificate is to end at the latest; null = after the usual lifetime. */
  readonly not_after: number | null;
  readonly expires_at: number;
  /** Serial number; null until the order is valid. */
  readonly certificate: string | null;
}

export interface AuthorizationRow {
  readonly id: Uint8Array;
  readonly identifier: string;
  readonly wildcard: number;
  readonly status: 'pending' | 'valid' | 'invalid';
}

export interface ChallengeRow {
  readonly id: Uint8Array;
  readonly type: 'dns-01' | 'http-01';
  readonly token: string;
  readonly status: 'pending' | 'valid' | 'invalid';
  /** JSON: a problem document. */
  readonly problem: string | null;
}

export interface CertificateRow {
  readonly serial: string;
  readonly authority: string;
  /** DER. */
  readonly certificate: Uint8Array;
  /** PEM. */
  readonly chain: string;
  readonly not_before: number;
  readonly not_after: number;
  readonly revoked_at: number | null;
  readonly revocation_reason: number | null;
}

export type NewOrder = Pick<
  OrderRow,
  'id' | 'authority' | 'names' | 'profile' | 'replaces' | 'not_after' | 'expires_at'
> & {
  readonly authorizations: readonly (Pick<AuthorizationRow, 'id' | 'identifier' | 'wildcard'> & {
    readonly challenges: readonly Pick<ChallengeRow, 'id' | 'type' | 'token'>[];
  })[];
};

type Numbered<Row> = Row & { readonly seq: number };

/** The authorization and the order to which a challenge belongs. */
interface Ancestors {
  readonly order_seq: number;
  readonly order_expires_at: number;
}

const WITH_ORDER = `authority_authorizations.*, authority_orders.expires_at AS order_expires_at FROM authority_authorizations
  JOIN authority_orders ON authority_orders.seq = order_seq`;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of statements
const statements = perStore((store) => ({
  insertIssuer: store.prepare<
    [id: Uint8Array, name: string, certificate: Uint8Array, privateKey: Uint8Array, notAfter: number]
  >('INSERT INTO authority_issuers (id, name, certificate, private_key, not_after) VALUES (?, ?, ?, ?, ?)'),
  insertOrder: store.prepare<
    [
      id: Uint8Array,
      authority: string,
      names: string,
      profile: string,
      replaces: string | null,
      notAfter: number | null,
      expiresAt: number,
    ]
  >(
    `INSERT INTO authority_orders (id, authority, status, names, profile, replaces, not_after, expires_at)
     VALUES (?, ?, 'pending', ?, ?, ?, ?, ?)`,
  ),
  insertAuthorization: store.prepare<[id: Uint8Array, order: number, identifier: string, wildcard: number]>(
    `INSERT INTO authority_authorizations (id, order_seq, identifier, wildcard, status) VALUES (?, ?, ?, ?, 'pending')`,
  ),
  insertChallenge: store.prepare<[id: Uint8Array, authorization: number, type: string, token: string]>(
    `INSERT INTO authority_challenges (id, authorization_seq, type, token, status) VALUES (?, ?, ?, ?, 'pending')`,
  ),
  order: store.prepare<[authority: string, id: Uint8Array], Numbered<OrderRow>>(
    'SELECT * FROM authority_orders WHERE authority = ? AND id = ?',
  ),
  unfinished: store.prepareTuples<[authority: string, names: string, nowMs: number], [id: Uint8Array]>(
    `SELECT id FROM authority_orders WHERE authority = ? AND names = ? AND status IN ('pending', 'ready') AND expires_at > ?
     ORDER BY seq DESC`,
  ),
  authorizations: store.prepare<[order: number], Numbered<AuthorizationRow>>(
    'SELECT * FROM authority_authorizations WHERE order_seq = ? ORDER BY seq',
  ),
  authorization: store.prepare<[authority: string, id: Uint8Array], Numbered<AuthorizationRow> & Ancestors>(
    `SELECT ${WITH_ORDER} WHERE authority = ? AND authority_authorizations.id = ?`,
  ),
  challenges: store.prepare<[authorization: number], Numbered<ChallengeRow>>(
    'SELECT * FROM authority_challenges WHERE authorization_seq = ? ORDER BY seq',
  ),
  challenge: store.prepare<[id: Uint8Array], Numbered<ChallengeRow> & { readonly authorization_seq: number }>(
    'SELECT * FROM authority_challenges WHERE id = ?',
  ),
  authorizationBySeq: store.prepare<[authority: string, seq: number], Numbered<AuthorizationRow> & Ancestors>(
    `SELECT ${WITH_ORDER} WHERE authority = ? AND authority_authorizations.seq = ?`,
  ),
  settleChallenge: store.prepare<[status: string, problem: string | null, seq: number]>(
    `UPDATE authority_challenges SET status = ?, problem = ? WHERE seq = ?`,
  ),
  settleAuthorization: store.prepare<[status: string, seq: number]>(
    'UPDATE authority_authorizations SET status = ? WHERE seq = ?',
  ),
  setOrderStatus: store.prepare<[status: string, seq: number]>(
    `UPDATE authority_orders SET status = ? WHERE seq = ? AND status = 'pending'`,
  ),
  completeOrder: store.prepare<[certificate: string, id: Uint8Array]>(
    `UPDATE authority_orders SET status = 'valid', certificate = ? WHERE id = ? AND status = 'ready'`,
  ),
  insertCertificate: store.prepare<
    [serial: string, authority: string, certificate: Uint8Array, chain: string, notBefore: number, notAfter: number]
  >(
    `INSERT INTO authority_certificates (serial, authority, certificate, chain, not_before, not_after)
     VALUES (?, ?, ?, ?, ?, ?)`,
  ),
  revoke: store.prepare<[revokedAt: number, reason: number, serial: string]>(
    'UPDATE authority_certificates SET revoked_at = ?, revocation_reason = ? WHERE serial = ? AND revoked_at IS NULL',
  ),
  removeOrders: store.prepare<[before: number, count: number]>(
    `DELETE FROM authority_orders WHERE seq IN
       (SELECT seq FROM authority_orders WHERE expires_at < ? ORDER BY expires_at, seq LIMIT ?)`,
  ),
  removeCertificates: store.prepare<[before: number, count: number]>(
    `DELETE FROM authority_certificates WHERE serial IN
       (SELECT serial FROM authority_certificates WHERE not_after < ? ORDER BY not_after, serial LIMIT ?)`,
  ),
}));

/** All issuers with this name, past ones included, the oldest first. */
export const issuersOf = allRows<[name: string], IssuerRow>(
  'SELECT * FROM authority_issuers WHERE name = ? ORDER BY seq',
);

/** Call inside a write. */
export function insertIssuer(store: Store, { id, name, certificate, private_key, not_after }: IssuerRow): void {
  statements(store).insertIssuer.run(id, name, certificate, private_key, not_after);
}

/** Call inside a write. */
export function insertOrder(store: Store, order: NewOrder): void {
  const { insertOrder, insertAuthorization, insertChallenge } = statements(store);
  const { id, authority, names, profile, replaces, not_after, expires_at } = order;
  const { lastInsertRowid } = insertOrder.run(id, authority, names, profile, replaces, not_after, expires_at);
  for (const { id, identifier, wildcard, challenges } of order.authorizations) {
    const authorization = insertAuthorization.run(id, lastInsertRowid, identifier, wildcard);
    for (const { id, type, token } of challenges) {
      insertChallenge.run(id, authorization.lastInsertRowid, type, token);
    }
  }
}

export interface StoredAuthorization extends AuthorizationRow {
  readonly challenges: readonly ChallengeRow[];
  /** The expiry of its order. */
  readonly expires_at: number;
}

export interface StoredOrder extends OrderRow {
  readonly authorizations: readonly StoredAuthorization[];
}

export function findOrder(store: Store, authority: string, id: Uint8Array): StoredOrder | undefined {
  const { order, authorizations, challenges } = statements(store);
  return store.snapshot(() => {
    const row = order.get(authority, id);
    if (!row) return undefined;
    return {
      ...row,
      authorizations: authorizations.all(row.seq).map((authorization) => ({
        ...authorization,
        challenges: challenges.all(authorization.seq),
        expires_at: row.expires_at,
      })),
    };
  });
}

/** Identifiers of pending and ready orders for exactly these names (a JSON list), the newest first. */
export function unfinishedOrders(store: Store, authority: string, names: string, nowMs: number): Uint8Array[] {
  return statements(store)
    .unfinished.all(authority, names, nowMs)
    .map(([id]) => new Uint8Array(id));
}

export function findAuthorization(store: Store, authority: string, id: Uint8Array): StoredAuthorization | undefined {
  const { authorization, challenges } = statements(store);
  return store.snapshot(() => {
    const row = authorization.get(authority, id);
    return row && { ...row, challenges: challenges.all(row.seq), expires_at: row.order_expires_at };
  });
}

export interface StoredChallenge extends ChallengeRow {
  readonly authorization: StoredAuthorization;
}

export function findChallenge(store: Store, authority: string, id: Uint8Array): StoredChallenge | undefined {
  const { challenge, authorizationBySeq, challenges } = statements(store);
  return store.snapshot(() => {
    const row = challenge.get(id);
    const parent = row && authorizationBySeq.get(authority, row.authorization_seq);
    if (!parent) return undefined;
    return {
      ...row,
      authorization: { ...parent, challenges: challenges.all(parent.seq), expires_at: parent.order_expires_at },
    };
  });
}

/**
 * Records the result of a challenge and updates its authorization and order (RFC 8555 §7.1.6). Does nothing when the
 * authorization is already settled. Call inside a write. `problem`: JSON; null when control was proved.
 */
export function settleChallenge(store: Store, authority: string, id: Uint8Array, problem: string | null): void {
  const { challenge, authorizationBySeq, authorizations, settleChallenge, settleAuthorization, setOrderStatus } =
    statements(store);
  const row = challenge.get(id);
  const parent = row && authorizationBySeq.get(authority, row.authorization_seq);
  if (row === undefined || parent?.status !== 'pending') return;
  const status = problem === null ? 'valid' : 'invalid';
  settleChallenge.run(status, problem, row.seq);
  settleAuthorization.run(status, parent.seq);
  if (status === 'invalid') setOrderStatus.run('invalid', parent.order_seq);
  else if (authorizations.all(parent.order_seq).every((authorization) => authorization.status === 'valid')) {
    setOrderStatus.run('ready', parent.order_seq);
  }
}

export type NewCertificate = Omit<CertificateRow, 'revoked_at' | 'revocation_reason'>;

/** Makes a ready order valid with its certificate; false when the order is no longer ready. Call inside a write. */
export function completeOrder(store: Store, order: Uint8Array, issued: NewCertificate): boolean {
  const { completeOrder, insertCertificate } = statements(store);
  const { serial, authority, certificate, chain, not_before, not_after } = issued;
  if (completeOrder.run(serial, order).changes === 0) return false;
  insertCertificate.run(serial, authority, certificate, chain, not_before, not_after);
  return true;
}

/** Whether a valid order has replaced the certificate with this identifier. */
export const isReplaced = hasRow<[authority: string, identifier: string]>(
  `SELECT 1 FROM authority_orders WHERE authority = ? AND replaces = ? AND status = 'valid'`,
);

/** `serial`: hexadecimal digits, lower case. */
export const findCertificate = oneRow<[authority: string, serial: string], CertificateRow>(
  'SELECT * FROM authority_certificates WHERE authority = ? AND serial = ?',
);

/** A revoked certificate stays unchanged. Call inside a write. */
export function revokeCertificate(store: Store, serial: string, revokedAt: number, reason: number): void {
  statements(store).revoke.run(revokedAt, reason, serial);
}

/** Deletes up to `count` orders and as many certificates that expired before `before`. Call inside a write. */
export function removeEndedOrders(store: Store, before: number, count: number): void {
  const { removeOrders, removeCertificates } = statements(store);
  removeOrders.run(before, count);
  removeCertificates.run(before, count);
}
