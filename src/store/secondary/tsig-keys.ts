/** TSIG keys of accounts; their secrets are sealed (vault/). */
import { allRows, column, columns, insertsOwned, oneRow, type RowOf, runs, updates } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { findMeta } from '../meta.js';

const KEY = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  /** Name and algorithm as the client wrote them. */
  name: column<string>(),
  algorithm: column<string>(),
  /** Wire name, lower case. */
  key_name: column<Uint8Array>(),
  /** Sealed. */
  secret: column<Uint8Array>(),
  /** JSON list: what the key may change by dynamic update; null: nothing. */
  policies: column<string | null>(),
  /** Microseconds since 1970. */
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface TsigKeyRow extends RowOf<typeof KEY> {
  readonly seq: number;
}

/** What its owner sets. */
const VALUES = KEY.only('name', 'key_name', 'algorithm', 'secret', 'policies');

type Values = RowOf<typeof VALUES>;

const statements = perStore((store) => ({
  names: store.prepareTuples<[], [Uint8Array]>('SELECT DISTINCT key_name FROM tsig_keys'),
}));

export const findTsigKey = oneRow<[seq: number], TsigKeyRow>('SELECT * FROM tsig_keys WHERE seq = ?');

export const findTsigKeyById = oneRow<[id: Uint8Array], TsigKeyRow>('SELECT * FROM tsig_keys WHERE id = ?');

/** The key of an account with this wire name in lower case. */
export const findTsigKeyByName = oneRow<[account: number, keyName: Uint8Array], TsigKeyRow>(
  'SELECT * FROM tsig_keys WHERE account = ? AND key_name = ?',
);

/** The oldest first. */
export const tsigKeysOfAccount = allRows<[account: number], TsigKeyRow>(
  'SELECT * FROM tsig_keys WHERE account = ? ORDER BY seq',
);

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
export const insertTsigKey = insertsOwned<Values>('tsig_keys', KEY);

export const updateTsigKey = updates('tsig_keys', VALUES);

export const removeTsigKey = runs<[seq: number]>('DELETE FROM tsig_keys WHERE seq = ?');
