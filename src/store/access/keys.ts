/** Credentials of the API. Only a keyed hash of each secret is stored. */
import { allRows, column, columns, hasRow, inserts, oneRow, type RowOf, theValue } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

export type KeyKind = 'key' | 'token';

const KEY = columns({
  id: column<Uint8Array>(),
  user: column<number>(),
  /** Restricts the credential to one account; null for all accounts of the user. */
  account: column<number | null>(),
  kind: column<KeyKind>(),
  name: column<string>(),
  hash: column<Uint8Array>(),
  read_only: column<number>(),
  /** JSON list of the zone identifiers the credential is restricted to; null for no restriction. */
  zones: column<string | null>(),
  created_at: column<number>(),
  expires_at: column<number | null>(),
  revoked_at: column<number | null>(),
  last_used_at: column<number | null>(),
  /** JSON list of policies; null for all permissions of the user. */
  policies: column<string | null>(),
  /** JSON object of the networks from which it may be used; null for all networks. */
  networks: column<string | null>(),
  not_before: column<number | null>(),
  modified_at: column<number | null>(),
  disabled: column<number>(),
  /** 1: belongs to `account`, not to the user who created it. */
  account_owned: column<number>(),
  /** Sealed digest of a token's value, with which S3 clients sign; null when the token has none. */
  s3_secret: column<Uint8Array | null>(),
});

export interface KeyRow extends RowOf<typeof KEY> {
  readonly seq: number;
}

const NEW = KEY.without('revoked_at', 'last_used_at', 'modified_at');

/** The columns that editing a token replaces. */
const CHANGED = KEY.only('name', 'policies', 'networks', 'not_before', 'expires_at', 'disabled', 'modified_at');

export type KeyChange = RowOf<typeof CHANGED>;

const statements = perStore((store) => ({
  update: store.prepare<SqlValue[]>(`UPDATE api_keys SET ${CHANGED.assignments} WHERE seq = ?`),
  setHash: store.prepare<[hash: Uint8Array, s3Secret: Uint8Array | null, modifiedAt: number, seq: number]>(
    'UPDATE api_keys SET hash = ?, s3_secret = ?, modified_at = ? WHERE seq = ?',
  ),
  revoke: store.prepare<[at: number, seq: number]>(
    'UPDATE api_keys SET revoked_at = ? WHERE seq = ? AND revoked_at IS NULL',
  ),
  removeRevoked: store.prepare<[user: number, kept: number]>(
    `DELETE FROM api_keys WHERE seq IN
       (SELECT seq FROM api_keys WHERE user = ? AND revoked_at IS NOT NULL ORDER BY revoked_at DESC, seq DESC LIMIT 10 OFFSET ?)
     AND seq < (SELECT max(seq) FROM api_keys)`,
  ),
  touch: store.prepare<[at: number, seq: number]>('UPDATE api_keys SET last_used_at = ? WHERE seq = ?'),
}));

export const findKeyByHash = oneRow<[hash: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE hash = ?');

export const findKey = oneRow<[seq: number], KeyRow>('SELECT * FROM api_keys WHERE seq = ?');

export const findKeyById = oneRow<[id: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE id = ?');

/** All credentials, the oldest first. */
export const allKeys = allRows<[], KeyRow>('SELECT * FROM api_keys ORDER BY seq');

/** Credentials that a user created, including account-owned ones, the oldest first. */
export const keysOfUser = allRows<[user: number], KeyRow>('SELECT * FROM api_keys WHERE user = ? ORDER BY seq');

/** Those that are not revoked, behind a store number: a user may have thousands, each with very many permissions. */
export const currentKeysOfUser = allRows<[user: number, after: number, limit: number], KeyRow>(
  'SELECT * FROM api_keys WHERE user = ? AND revoked_at IS NULL AND seq > ? ORDER BY seq LIMIT ?',
);

export const hasCurrentKeys = hasRow<[user: number]>(
  'SELECT 1 FROM api_keys WHERE user = ? AND revoked_at IS NULL LIMIT 1',
);

export const hasUsedKeys = hasRow<[]>('SELECT 1 FROM api_keys WHERE last_used_at IS NOT NULL LIMIT 1');

/** Account-owned credentials, the oldest first. */
export const keysOwnedByAccount = allRows<[account: number], KeyRow>(
  'SELECT * FROM api_keys WHERE account = ? AND account_owned = 1 ORDER BY seq',
);

const TOKENS = `SELECT count(*) FROM api_keys WHERE kind = 'token' AND revoked_at IS NULL`;

/** How many tokens that are not deleted a user has, without those of accounts. */
export const countTokensOfUser = theValue<[user: number], number>(`${TOKENS} AND user = ? AND account_owned = 0`);

/** The same of an account. */
export const countTokensOfAccount = theValue<[account: number], number>(
  `${TOKENS} AND account = ? AND account_owned = 1`,
);

export const insertKey = inserts('api_keys', NEW);

export function updateKey(store: Store, seq: number, change: KeyChange): void {
  statements(store).update.run(...CHANGED.values(change), seq);
}

/** `s3Secret`: the sealed digest of the new value. */
export function setKeyHash(
  store: Store,
  seq: number,
  hash: Uint8Array,
  s3Secret: Uint8Array | null,
  modifiedAt: number,
): void {
  statements(store).setHash.run(hash, s3Secret, modifiedAt, seq);
}

/** Whether S3 clients could sign with any token. */
export const hasSecretAccessKeys = hasRow<[]>(
  'SELECT 1 FROM api_keys WHERE s3_secret IS NOT NULL AND revoked_at IS NULL LIMIT 1',
);

/** Revoked credentials of a user that are kept to be shown. The newest credential stays, too, so that its store number is not used again. */
const KEPT_REVOKED = 1000;

/** Returns false when the credential was already revoked. */
export function setKeyRevoked(store: Store, { seq, user }: Pick<KeyRow, 'seq' | 'user'>, at: number): boolean {
  if (statements(store).revoke.run(at, seq).changes === 0) return false;
  statements(store).removeRevoked.run(user, KEPT_REVOKED);
  return true;
}

export function setKeyLastUsed(store: Store, seq: number, at: number): void {
  statements(store).touch.run(at, seq);
}
