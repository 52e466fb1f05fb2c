/** Sign-ins that wait for a second factor, and what was used and counts once. Only hashes are stored. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const CHALLENGE = columns({
  hash: column<Uint8Array>(),
  user: column<number>(),
  /** What was proved already, as in sessions. */
  how: column<string>(),
  provider: column<Uint8Array | null>(),
  provider_subject: column<string | null>(),
  provider_session: column<string | null>(),
  attempts: column<number>(),
  expires_at: column<number>(),
});

export type ChallengeRow = RowOf<typeof CHALLENGE>;

const statements = perStore((store) => ({
  byHash: store.prepare<[hash: Uint8Array], ChallengeRow>('SELECT * FROM sign_in_challenges WHERE hash = ?'),
  ofUser: store.prepare<[user: number], ChallengeRow>(
    'SELECT * FROM sign_in_challenges WHERE user = ? ORDER BY expires_at, hash',
  ),
  insert: store.prepare<SqlValue[]>(insertion('sign_in_challenges', CHALLENGE)),
  count: store.prepare<[hash: Uint8Array]>('UPDATE sign_in_challenges SET attempts = attempts + 1 WHERE hash = ?'),
  remove: store.prepare<[hash: Uint8Array]>('DELETE FROM sign_in_challenges WHERE hash = ?'),
  removeOfUser: store.prepare<[user: number]>('DELETE FROM sign_in_challenges WHERE user = ?'),
  removeOver: store.prepare<[now: number]>('DELETE FROM sign_in_challenges WHERE expires_at <= ?'),
  use: store.prepare<[hash: Uint8Array, expiresAt: number]>(
    'INSERT INTO used_proofs (hash, expires_at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING',
  ),
  forget: store.prepare<[now: number]>('DELETE FROM used_proofs WHERE expires_at <= ?'),
}));

export function findChallenge(store: Store, hash: Uint8Array): ChallengeRow | undefined {
  return statements(store).byHash.get(hash);
}

/** The one that ends first at the head. */
export function challengesOfUser(store: Store, user: number): ChallengeRow[] {
  return statements(store).ofUser.all(user);
}

export function insertChallenge(store: Store, row: ChallengeRow): void {
  statements(store).insert.run(...CHALLENGE.values(row));
}

export function countAttempt(store: Store, hash: Uint8Array): void {
  statements(store).count.run(hash);
}

export function removeChallenge(store: Store, hash: Uint8Array): void {
  statements(store).remove.run(hash);
}

export function removeChallengesOfUser(store: Store, user: number): void {
  statements(store).removeOfUser.run(user);
}

export function removeChallengesOver(store: Store, now: number): void {
  statements(store).removeOver.run(now);
}

/** Returns false when it was used before, on whatever node. `expiresAt`: until when that is remembered. */
export function useProof(store: Store, hash: Uint8Array, expiresAt: number): boolean {
  return statements(store).use.run(hash, expiresAt).changes > 0;
}

export function forgetProofs(store: Store, now: number): void {
  statements(store).forget.run(now);
}
