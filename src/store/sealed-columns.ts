/**
 * The only list of columns with sealed values (vault/), and the functions that walk through them. A value that is not
 * listed here can be neither sealed nor opened, so a key rotation never misses one.
 */
import type { SqlValue, Store } from './driver.js';

/** The purpose of a sealed value. Each purpose has its own keys, so that a process receives only the keys it needs. */
export type SealPurpose =
  | 'check'
  | 'authority'
  | 'acme'
  | 'tls'
  | 'dnssec'
  | 'tsig'
  | 'online'
  | 's3'
  | 'sign-in'
  | 'alerts';

/** The purposes of a process that may open everything. */
export const ALL_PURPOSES: readonly SealPurpose[] = [
  'check',
  'authority',
  'acme',
  'tls',
  'dnssec',
  'tsig',
  'online',
  's3',
  'sign-in',
  'alerts',
];

export interface SealedColumn {
  readonly table: string;
  /** The column that identifies the row: its primary key or another unique column. */
  readonly id: string;
  /** The column of the sealed value; NULL when there is none. */
  readonly column: string;
  readonly purpose: SealPurpose;
}

/** Keys of the built-in certificate authority. */
export const ISSUER_KEYS: SealedColumn = {
  table: 'authority_issuers',
  id: 'id',
  column: 'private_key',
  purpose: 'authority',
};

/** Keys of certificates: those being ordered, issued or uploaded. */
export const ORDER_KEYS: SealedColumn = {
  table: 'certificate_orders',
  id: 'id',
  column: 'private_key',
  purpose: 'tls',
};
export const CERTIFICATE_KEYS: SealedColumn = {
  table: 'certificates',
  id: 'id',
  column: 'private_key',
  purpose: 'tls',
};

/** Keys of ACME accounts. */
export const ACME_ACCOUNT_KEYS: SealedColumn = {
  table: 'acme_accounts',
  id: 'id',
  column: 'private_key',
  purpose: 'acme',
};

/** Keys that sign zones. */
export const ZONE_KEYS: SealedColumn = {
  table: 'dnssec_keys',
  id: 'id',
  column: 'sealed',
  purpose: 'dnssec',
};

/** Those of them that DNS processes sign with, sealed once more for these processes. */
export const ONLINE_KEYS: SealedColumn = {
  table: 'dnssec_keys',
  id: 'id',
  column: 'online',
  purpose: 'online',
};

/** Secrets of TSIG keys. */
export const TSIG_SECRETS: SealedColumn = { table: 'tsig_keys', id: 'id', column: 'secret', purpose: 'tsig' };

/** What S3 clients sign with: digests of the values of tokens. */
export const SECRET_ACCESS_KEYS: SealedColumn = { table: 'api_keys', id: 'id', column: 's3_secret', purpose: 's3' };

/** Secrets with which people's devices make one-time passwords. */
export const TOTP_SECRETS: SealedColumn = {
  table: 'one_time_passwords',
  id: 'user',
  column: 'secret',
  purpose: 'sign-in',
};

/** With which this installation proves to identity providers who it is. */
export const OIDC_SECRETS: SealedColumn = {
  table: 'oidc_providers',
  id: 'id',
  column: 'client_secret',
  purpose: 'sign-in',
};

/** The secret of TLS session tickets. */
export const TICKET_SECRETS: SealedColumn = {
  table: 'ticket_secrets',
  id: 'number',
  column: 'secret',
  purpose: 'tls',
};

/** Secrets by which receivers of webhooks authenticate the sender. */
export const WEBHOOK_SECRETS: SealedColumn = {
  table: 'alert_destinations',
  id: 'id',
  column: 'secret',
  purpose: 'alerts',
};

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  ISSUER_KEYS,
  ORDER_KEYS,
  CERTIFICATE_KEYS,
  ACME_ACCOUNT_KEYS,
  ZONE_KEYS,
  ONLINE_KEYS,
  TSIG_SECRETS,
  SECRET_ACCESS_KEYS,
  TOTP_SECRETS,
  OIDC_SECRETS,
  TICKET_SECRETS,
  WEBHOOK_SECRETS,
];

/** The first octets of every sealed value: its form (one octet) and the identifier of its key (eight). */
export const SEALED_HEADER_OCTETS = 9;

/** Number of values of a column for each header, ordered by header. */
export function countSealed(
  store: Store,
  { table, column }: SealedColumn,
): { readonly header: Uint8Array; readonly count: number }[] {
  return store
    .prepare<[], { header: Uint8Array; count: number }>(
      `SELECT substr(${column}, 1, ${SEALED_HEADER_OCTETS}) AS header, count(*) AS count FROM ${table}
       WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY 1`,
    )
    .all();
}

/** Values that do not begin with `header`, no more than `limit`, in row order; `after` is a row's identifier. */
export function sealedUnlike(
  store: Store,
  { table, id, column }: SealedColumn,
  header: Uint8Array,
  limit: number,
  after?: SqlValue,
): { readonly id: SqlValue; readonly sealed: Uint8Array }[] {
  const select = `SELECT ${id} AS id, ${column} AS sealed FROM ${table}
    WHERE ${column} IS NOT NULL AND substr(${column}, 1, ${SEALED_HEADER_OCTETS}) <> ?`;
  const order = `ORDER BY ${id} LIMIT ?`;
  type Row = { id: SqlValue; sealed: Uint8Array };
  return after === undefined
    ? store.prepare<[Uint8Array, number], Row>(`${select} ${order}`).all(header, limit)
    : store.prepare<[Uint8Array, SqlValue, number], Row>(`${select} AND ${id} > ? ${order}`).all(header, after, limit);
}

/** Call inside a write. */
export function replaceSealed(
  store: Store,
  { table, id, column }: SealedColumn,
  row: SqlValue,
  sealed: Uint8Array,
): void {
  store.prepare<[Uint8Array, SqlValue]>(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ?`).run(sealed, row);
}
