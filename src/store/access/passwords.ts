/** Passwords of users, and the links with which they choose one or sign in without. Only hashes are stored. */
import { perStore, type Store } from '../driver.js';

export type UserLinkKind = 'sign-in' | 'password';

export interface UserLinkRow {
  readonly hash: Uint8Array;
  readonly user: number;
  readonly kind: UserLinkKind;
  readonly expires_at: number;
}

const statements = perStore((store) => ({
  password: store.prepareTuples<[user: number], [hash: string]>('SELECT hash FROM passwords WHERE user = ?'),
  putPassword: store.prepare<[user: number, hash: string, setAt: number]>(
    'INSERT OR REPLACE INTO passwords (user, hash, set_at) VALUES (?, ?, ?)',
  ),
  link: store.prepare<[hash: Uint8Array], UserLinkRow>('SELECT * FROM user_links WHERE hash = ?'),
  linksOf: store.prepare<[user: number, kind: string], UserLinkRow>(
    'SELECT * FROM user_links WHERE user = ? AND kind = ? ORDER BY expires_at, hash',
  ),
  insertLink: store.prepare<[hash: Uint8Array, user: number, kind: string, expiresAt: number]>(
    'INSERT INTO user_links (hash, user, kind, expires_at) VALUES (?, ?, ?, ?)',
  ),
  removeLink: store.prepare<[hash: Uint8Array]>('DELETE FROM user_links WHERE hash = ?'),
  removeLinksOf: store.prepare<[user: number]>('DELETE FROM user_links WHERE user = ?'),
  removeOldLinks: store.prepare<[now: number]>('DELETE FROM user_links WHERE expires_at <= ?'),
}));

/** In PHC string format; undefined when the user has none. */
export function findPassword(store: Store, user: number): string | undefined {
  return statements(store).password.get(user)?.[0];
}

export function putPassword(store: Store, user: number, hash: string, setAt: number): void {
  statements(store).putPassword.run(user, hash, setAt);
}

export function findUserLink(store: Store, hash: Uint8Array): UserLinkRow | undefined {
  return statements(store).link.get(hash);
}

/** The links of a user, the one that ends first at the head. */
export function linksOfUser(store: Store, user: number, kind: UserLinkKind): UserLinkRow[] {
  return statements(store).linksOf.all(user, kind);
}

export function insertUserLink(store: Store, { hash, user, kind, expires_at }: UserLinkRow): void {
  statements(store).insertLink.run(hash, user, kind, expires_at);
}

/** Returns false when it was used already. */
export function removeUserLink(store: Store, hash: Uint8Array): boolean {
  return statements(store).removeLink.run(hash).changes > 0;
}

export function removeLinksOfUser(store: Store, user: number): void {
  statements(store).removeLinksOf.run(user);
}

export function removeUserLinksOver(store: Store, now: number): void {
  statements(store).removeOldLinks.run(now);
}
