/** Sessions of browsers, and the links that begin one. Only keyed hashes of their secrets are stored. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const SESSION = columns({
  id: column<Uint8Array>(),
  hash: column<Uint8Array>(),
  /** Store number of the credential with which it works. */
  credential: column<number>(),
  /** Hash of the credential's secret when the session began. */
  credential_hash: column<Uint8Array>(),
  /** Source address of the sign-in. */
  address: column<string>(),
  user_agent: column<string>(),
  created_at: column<number>(),
  last_used_at: column<number>(),
  expires_at: column<number>(),
});

export interface SessionRow extends RowOf<typeof SESSION> {
  readonly seq: number;
}

export type NewSessionRow = RowOf<typeof SESSION>;

export interface LoginLinkRow {
  readonly hash: Uint8Array;
  readonly credential: number;
  readonly credential_hash: Uint8Array;
  readonly expires_at: number;
}

const statements = perStore((store) => ({
  byHash: store.prepare<[hash: Uint8Array], SessionRow>('SELECT * FROM sessions WHERE hash = ?'),
  byId: store.prepare<[id: Uint8Array], SessionRow>('SELECT * FROM sessions WHERE id = ?'),
  all: store.prepare<[], SessionRow>('SELECT * FROM sessions ORDER BY seq'),
  ofCredential: store.prepare<[credential: number], SessionRow>(
    'SELECT * FROM sessions WHERE credential = ? ORDER BY last_used_at, seq',
  ),
  insert: store.prepare<SqlValue[]>(insertion('sessions', SESSION)),
  touch: store.prepare<[at: number, seq: number]>('UPDATE sessions SET last_used_at = ? WHERE seq = ?'),
  remove: store.prepare<[seq: number]>('DELETE FROM sessions WHERE seq = ?'),
  removeOver: store.prepare<[now: number, idleSince: number]>(
    'DELETE FROM sessions WHERE expires_at <= ? OR last_used_at <= ?',
  ),
  link: store.prepare<[hash: Uint8Array], LoginLinkRow>('SELECT * FROM login_links WHERE hash = ?'),
  insertLink: store.prepare<[hash: Uint8Array, credential: number, credentialHash: Uint8Array, expiresAt: number]>(
    'INSERT INTO login_links (hash, credential, credential_hash, expires_at) VALUES (?, ?, ?, ?)',
  ),
  removeLink: store.prepare<[hash: Uint8Array]>('DELETE FROM login_links WHERE hash = ?'),
  removeOldLinks: store.prepare<[now: number]>('DELETE FROM login_links WHERE expires_at <= ?'),
}));

export function findSessionByHash(store: Store, hash: Uint8Array): SessionRow | undefined {
  return statements(store).byHash.get(hash);
}

export function findSessionById(store: Store, id: Uint8Array): SessionRow | undefined {
  return statements(store).byId.get(id);
}

/** All sessions, the oldest first, including those that are over. */
export function allSessions(store: Store): SessionRow[] {
  return statements(store).all.all();
}

/** The sessions of a credential, those not used for the longest time first. */
export function sessionsOfCredential(store: Store, credential: number): SessionRow[] {
  return statements(store).ofCredential.all(credential);
}

export function insertSession(store: Store, row: NewSessionRow): void {
  statements(store).insert.run(...SESSION.values(row));
}

export function setSessionLastUsed(store: Store, seq: number, at: number): void {
  statements(store).touch.run(at, seq);
}

/** Returns false when there was none. */
export function removeSession(store: Store, seq: number): boolean {
  return statements(store).remove.run(seq).changes > 0;
}

/** Removes sessions that have ended by `now`, and those not used since `idleSince`. */
export function removeSessionsOver(store: Store, now: number, idleSince: number): void {
  statements(store).removeOver.run(now, idleSince);
}

export function findLoginLink(store: Store, hash: Uint8Array): LoginLinkRow | undefined {
  return statements(store).link.get(hash);
}

export function insertLoginLink(store: Store, row: LoginLinkRow): void {
  statements(store).insertLink.run(row.hash, row.credential, row.credential_hash, row.expires_at);
}

/** Returns false when it was used already. */
export function removeLoginLink(store: Store, hash: Uint8Array): boolean {
  return statements(store).removeLink.run(hash).changes > 0;
}

export function removeLoginLinksOver(store: Store, now: number): void {
  statements(store).removeOldLinks.run(now);
}
