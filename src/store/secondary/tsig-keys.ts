/** TSIG keys of accounts; their secrets are sealed (vault/). */
import { perStore, type Store } from '../driver.js';
import { findMeta } from '../meta.js';

export interface TsigKeyRow {
  readonly seq: number;
  readonly id: Uint8Array;
  /** Store number. */
  readonly account: number;
  /** Name and algorithm as the client wrote them. */
  readonly name: string;
  readonly algorithm: string;
  /** Wire name, lower case. */
  readonly key_name: Uint8Array;
  /** Sealed. */
  readonly secret: Uint8Array;
  /** JSON list: what the key may change by dynamic update; null: nothing. */
  readonly policies: string | null;
  /** Microseconds since 1970. */
  readonly created_at: number;
  readonly modified_at: number;
}

type Values = Pick<TsigKeyRow, 'name' | 'key_name' | 'algorithm' | 'secret' | 'policies'>;

const statements = perStore((store) => ({
  bySeq: store.prepare<[seq: number], TsigKeyRow>('SELECT * FROM tsig_keys WHERE seq = ?'),
  byId: store.prepare<[id: Uint8Array], TsigKeyRow>('SELECT * FROM tsig_keys WHERE id = ?'),
  byName: store.prepare<[account: number, keyName: Uint8Array], TsigKeyRow>(
    'SELECT * FROM tsig_keys WHERE account = ? AND key_name = ?',
  ),
  ofAccount: store.prepare<[account: number], TsigKeyRow>('SELECT * FROM tsig_keys WHERE account = ? ORDER BY seq'),
  names: store.prepareTuples<[], [Uint8Array]>('SELECT DISTINCT key_name FROM tsig_keys'),
  insert: store.prepare<
    [
      id: Uint8Array,
      account: number,
      name: string,
      keyName: Uint8Array,
      algorithm: string,
      secret: Uint8Array,
      policies: string | null,
      createdAt: number,
      modifiedAt: number,
    ]
  >(
    `INSERT INTO tsig_keys (id, account, name, key_name, algorithm, secret, policies, created_at, modified_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  update: store.prepare<
    [
      name: string,
      keyName: Uint8Array,
      algorithm: string,
      secret: Uint8Array,
      policies: string | null,
      modifiedAt: number,
      seq: number,
    ]
  >(
    `UPDATE tsig_keys SET name = ?, key_name = ?, algorithm = ?, secret = ?, policies = ?, modified_at = ?
     WHERE seq = ?`,
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM tsig_keys WHERE seq = ?'),
}));

export function findTsigKey(store: Store, seq: number): TsigKeyRow | undefined {
  return statements(store).bySeq.get(seq);
}

export function findTsigKeyById(store: Store, id: Uint8Array): TsigKeyRow | undefined {
  return statements(store).byId.get(id);
}

/** The key of an account with this wire name in lower case. */
export function findTsigKeyByName(store: Store, account: number, keyName: Uint8Array): TsigKeyRow | undefined {
  return statements(store).byName.get(account, keyName);
}

/** The oldest first. */
export function tsigKeysOfAccount(store: Store, account: number): TsigKeyRow[] {
  return statements(store).ofAccount.all(account);
}

/** Wire names of the keys of all accounts, each once. */
export function tsigKeyNames(store: Store): Uint8Array[] {
  return statements(store)
    .names.all()
    .map(([name]) => name);
}

/** A number that changes whenever a key is added, renamed or removed. */
export function tsigVersion(store: Store): number {
  return Number(findMeta(store, 'tsig_version') ?? 0);
}

/** `now`: microseconds since 1970. */
export function insertTsigKey(store: Store, id: Uint8Array, account: number, values: Values, now: number): void {
  const { name, key_name: keyName, algorithm, secret, policies } = values;
  statements(store).insert.run(id, account, name, keyName, algorithm, secret, policies, now, now);
}

export function updateTsigKey(store: Store, seq: number, values: Values, now: number): void {
  const { name, key_name: keyName, algorithm, secret, policies } = values;
  statements(store).update.run(name, keyName, algorithm, secret, policies, now, seq);
}

export function removeTsigKey(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
