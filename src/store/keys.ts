/** Credentials of the API. Only a keyed hash of each secret is stored. */
import { perStore } from './driver.js';

export type KeyKind = 'key' | 'token';

export interface KeyRow {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly user: number;
  /** Limits the credential to one account; null for all accounts of the user. */
  readonly account: number | null;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly read_only: number;
  /** JSON list of zone identifiers the credential is limited to; null for no such limit. */
  readonly zones: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

export const keyStatements = perStore((store) => ({
  byHash: store.prepare<[hash: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE hash = ?'),
  byId: store.prepare<[id: Uint8Array], KeyRow>('SELECT * FROM api_keys WHERE id = ?'),
  all: store.prepare<[], KeyRow>('SELECT * FROM api_keys ORDER BY seq'),
  ofUser: store.prepare<[user: number], KeyRow>('SELECT * FROM api_keys WHERE user = ? ORDER BY seq'),
  insert: store.prepare<
    [
      id: Uint8Array,
      user: number,
      account: number | null,
      kind: KeyKind,
      name: string,
      hash: Uint8Array,
      readOnly: number,
      zones: string | null,
      createdAt: number,
      expiresAt: number | null,
    ]
  >(
    `INSERT INTO api_keys (id, user, account, kind, name, hash, read_only, zones, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  revoke: store.prepare<[at: number, seq: number]>(
    'UPDATE api_keys SET revoked_at = ? WHERE seq = ? AND revoked_at IS NULL',
  ),
  touch: store.prepare<[at: number, seq: number]>('UPDATE api_keys SET last_used_at = ? WHERE seq = ?'),
}));
