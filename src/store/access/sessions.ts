/** Sessions of browsers, and the links that begin one. Only keyed hashes of their secrets are stored. */
import { allRows, changesAny, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const SESSION = columns({
  id: column<Uint8Array>(),
  hash: column<Uint8Array>(),
  /** Store number. */
  user: column<number>(),
  /** Store number of the credential with which it works; null: the user themself. */
  credential: column<number | null>(),
  /** Hash of the credential's secret when the session began. */
  credential_hash: column<Uint8Array | null>(),
  /** What was proved, in words separated by spaces. */
  how: column<string>(),
  /** When the person last proved who they are. */
  proved_at: column<number>(),
  /** Of single sign-on: the provider, and its names of the person and of its own session. */
  provider: column<Uint8Array | null>(),
  provider_subject: column<string | null>(),
  provider_session: column<string | null>(),
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

export interface LoginLinkRow {
  readonly hash: Uint8Array;
  readonly credential: number;
  readonly credential_hash: Uint8Array;
  readonly expires_at: number;
}

const statements = perStore((store) => ({
  setSecret: store.prepare<[hash: Uint8Array, how: string, provedAt: number, seq: number]>(
    'UPDATE sessions SET hash = ?, how = ?, proved_at = ? WHERE seq = ?',
  ),
  touch: store.prepare<[at: number, seq: number]>('UPDATE sessions SET last_used_at = ? WHERE seq = ?'),
  removeOfUser: store.prepare<[user: number, except: number]>('DELETE FROM sessions WHERE user = ? AND seq <> ?'),
  removeAll: store.prepare<[]>('DELETE FROM sessions'),
  removeAllLinks: store.prepare<[]>('DELETE FROM login_links'),
  removeAllUserLinks: store.prepare<[]>('DELETE FROM user_links'),
  removeAllChallenges: store.prepare<[]>('DELETE FROM sign_in_challenges'),
  insertLink: store.prepare<[hash: Uint8Array, credential: number, credentialHash: Uint8Array, expiresAt: number]>(
    'INSERT INTO login_links (hash, credential, credential_hash, expires_at) VALUES (?, ?, ?, ?)',
  ),
}));

export const findSessionByHash = oneRow<[hash: Uint8Array], SessionRow>('SELECT * FROM sessions WHERE hash = ?');

export const findSessionById = oneRow<[id: Uint8Array], SessionRow>('SELECT * FROM sessions WHERE id = ?');

/** All sessions, the oldest first, including those that are over. */
export const allSessions = allRows<[], SessionRow>('SELECT * FROM sessions ORDER BY seq');

/** The sessions of a credential, those not used for the longest time first. */
export const sessionsOfCredential = allRows<[credential: number], SessionRow>(
  'SELECT * FROM sessions WHERE credential = ? ORDER BY last_used_at, seq',
);

/** The sessions of a user, those not used for the longest time first. */
export const sessionsOfUser = allRows<[user: number], SessionRow>(
  'SELECT * FROM sessions WHERE user = ? ORDER BY last_used_at, seq',
);

export const insertSession = inserts('sessions', SESSION);

/** Gives it another secret, when the person has proved once more who they are. */
export function setSessionSecret(store: Store, seq: number, hash: Uint8Array, how: string, provedAt: number): void {
  statements(store).setSecret.run(hash, how, provedAt, seq);
}

export function setSessionLastUsed(store: Store, seq: number, at: number): void {
  statements(store).touch.run(at, seq);
}

/** Returns false when there was none. */
export const removeSession = changesAny<[seq: number]>('DELETE FROM sessions WHERE seq = ?');

/** Ends the sessions of a user, but not that with the number `except`. Returns how many there were. */
export function removeSessionsOfUser(store: Store, user: number, except = 0): number {
  return statements(store).removeOfUser.run(user, except).changes;
}

/** Ends all sessions, and makes the links and challenges that begin one invalid: those of another history. */
export function removeAllSessions(store: Store): void {
  const { removeAll, removeAllLinks, removeAllUserLinks, removeAllChallenges } = statements(store);
  for (const remove of [removeAll, removeAllLinks, removeAllUserLinks, removeAllChallenges]) remove.run();
}

/** Removes sessions that have ended by `now`, and those not used since `idleSince`. */
export const removeSessionsOver = runs<[now: number, idleSince: number]>(
  'DELETE FROM sessions WHERE expires_at <= ? OR last_used_at <= ?',
);

export const findLoginLink = oneRow<[hash: Uint8Array], LoginLinkRow>('SELECT * FROM login_links WHERE hash = ?');

export function insertLoginLink(store: Store, row: LoginLinkRow): void {
  statements(store).insertLink.run(row.hash, row.credential, row.credential_hash, row.expires_at);
}

/** Returns false when it was used already. */
export const removeLoginLink = changesAny<[hash: Uint8Array]>('DELETE FROM login_links WHERE hash = ?');

export const removeLoginLinksOver = runs<[now: number]>('DELETE FROM login_links WHERE expires_at <= ?');
