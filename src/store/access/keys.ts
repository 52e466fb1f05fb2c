/** Credentials of the API. Only a keyed hash of each secret is stored. */
import { perStore, type SqlValue, type Store } from '../driver.js';

export type KeyKind = 'key' | 'token';

export interface KeyRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly user: number;
  /** Restricts the credential to one account; null for all accounts of the user. */
  readonly account: number | null;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly read_only: number;
  /** JSON list of the zone identifiers the credential is restricted to; null for no restriction. */
  readonly zones: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
  /** JSON list of policies; null for all permissions of the user. */
  readonly policies: string | null;
  /** JSON object of the networks from which it may be used; null for all networks. */
  readonly networks: string | null;
  readonly not_before: number | null;
  readonly modified_at: number | null;
  readonly disabled: number;
  /** 1: belongs to `account`, not to the user who created it. */
  readonly account_owned: number;
}

export type NewKeyRow = Omit<KeyRow, 'seq' | 'revoked_at' | 'last_used_at' | 'modified_at'>;

const CHANGED_COLUMNS = [
  'name',
  'policies',
  'networks',
  'not_before',
  'expires_at',
  'disabled',
  'modified_at',
] as const satisfies readonly (keyof KeyRow)[];

/** The columns that editing a token replaces. */
export type KeyChange = Pick<KeyRow, (typeof CHANGED_COLUMNS)[number]>;

const NEW_COLUMNS = [
  'id',
  'user',
  'account',
  'kind',
  'name',
  'hash',
  'read_only',
  'zones',
  'created_at',
  'expires_at',
  'policies',
  'networks',
  'not_before',
  'disabled',
  'account_owned',
] as const satisfies readonly (keyof NewKeyRow)[];

const statements = perStore((store) => ({
  byHash: store.prepare<[hash: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE hash = ?'),
  byId: store.prepare<[id: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE id = ?'),
  bySeq: store.prepare<[seq: number], KeyRow>('SELECT * FROM api_keys WHERE seq = ?'),
  all: store.prepare<[], KeyRow>('SELECT * FROM api_keys ORDER BY seq'),
  ofUser: store.prepare<[user: number], KeyRow>('SELECT * FROM api_keys WHERE user = ? ORDER BY seq'),
  ofAccount: store.prepare<[account: number], KeyRow>(
    'SELECT * FROM api_keys WHERE account = ? AND account_owned = 1 ORDER BY seq',
  ),
  insert: store.prepare<SqlValue[]>(
    `INSERT INTO api_keys (${NEW_COLUMNS.join(', ')}) VALUES (${NEW_COLUMNS.map(() => '?').join(', ')})`,
  ),
  update: store.prepare<SqlValue[]>(
    `UPDATE api_keys SET ${CHANGED_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE seq = ?`,
  ),
  setHash: store.prepare<[hash: Uint8Array, modifiedAt: number, seq: number]>(
    'UPDATE api_keys SET hash = ?, modified_at = ? WHERE seq = ?',
  ),
  revoke: store.prepare<[at: number, seq: number]>(
    'UPDATE api_keys SET revoked_at = ? WHERE seq = ? AND revoked_at IS NULL',
  ),
  touch: store.prepare<[at: number, seq: number]>('UPDATE api_keys SET last_used_at = ? WHERE seq = ?'),
}));

export function findKeyByHash(store: Store, hash: Uint8Array): KeyRow | undefined {
  return statements(store).byHash.get(hash);
}

export function findKey(store: Store, seq: number): KeyRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findKeyById(store: Store, id: Uint8Array): KeyRow | undefined {
  return statements(store).byId.get(id);
}

/** All credentials, the oldest first. */
export function allKeys(store: Store): KeyRow[] {
  return statements(store).all.all();
}

/** Credentials that a user created, including account-owned ones, the oldest first. */
export function keysOfUser(store: Store, user: number): KeyRow[] {
  return statements(store).ofUser.all(user);
}

/** Account-owned credentials, the oldest first. */
export function keysOwnedByAccount(store: Store, account: number): KeyRow[] {
  return statements(store).ofAccount.all(account);
}

export function insertKey(store: Store, row: NewKeyRow): void {
  statements(store).insert.run(...NEW_COLUMNS.map((name) => row[name]));
}

export function updateKey(store: Store, seq: number, change: KeyChange): void {
  statements(store).update.run(...CHANGED_COLUMNS.map((name) => change[name]), seq);
}

export function setKeyHash(store: Store, seq: number, hash: Uint8Array, modifiedAt: number): void {
  statements(store).setHash.run(hash, modifiedAt, seq);
}

/** Returns false when the credential was already revoked. */
export function setKeyRevoked(store: Store, seq: number, at: number): boolean {
  return statements(store).revoke.run(at, seq).changes > 0;
}

export function setKeyLastUsed(store: Store, seq: number, at: number): void {
  statements(store).touch.run(at, seq);
}
