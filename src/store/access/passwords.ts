/** Passwords of users, and the links with which they choose one or sign in without. Only hashes are stored. */

import { allRows, changesAny, oneRow, runs, valueIfAny } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export type UserLinkKind = 'sign-in' | 'password';

export interface UserLinkRow {
  readonly hash: Uint8Array;
  readonly user: number;
  readonly kind: UserLinkKind;
  readonly expires_at: number;
}

const statements = perStore((store) => ({
  insertLink: store.prepare<[hash: Uint8Array, user: number, kind: string, expiresAt: number]>(
    'INSERT INTO user_links (hash, user, kind, expires_at) VALUES (?, ?, ?, ?)',
  ),
}));

/** In PHC string format; undefined when the user has none. */
export const findPassword = valueIfAny<[user: number], string>('SELECT hash FROM passwords WHERE user = ?');

export const putPassword = runs<[user: number, hash: string, setAt: number]>(
  'INSERT OR REPLACE INTO passwords (user, hash, set_at) VALUES (?, ?, ?)',
);

export const findUserLink = oneRow<[hash: Uint8Array], UserLinkRow>('SELECT * FROM user_links WHERE hash = ?');

/** The links of a user, the one that ends first at the head. */
export const linksOfUser = allRows<[user: number, kind: UserLinkKind], UserLinkRow>(
  'SELECT * FROM user_links WHERE user = ? AND kind = ? ORDER BY expires_at, hash',
);

export function insertUserLink(store: Store, { hash, user, kind, expires_at }: UserLinkRow): void {
  statements(store).insertLink.run(hash, user, kind, expires_at);
}

/** Returns false when it was used already. */
export const removeUserLink = changesAny<[hash: Uint8Array]>('DELETE FROM user_links WHERE hash = ?');

export const removeLinksOfUser = runs<[user: number]>('DELETE FROM user_links WHERE user = ?');

export const removeUserLinksOver = runs<[now: number]>('DELETE FROM user_links WHERE expires_at <= ?');
