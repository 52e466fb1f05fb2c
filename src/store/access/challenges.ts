/** Sign-ins that wait for a second factor, and what was used and counts once. Only hashes are stored. */
import { allRows, changesAny, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';

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

export const findChallenge = oneRow<[hash: Uint8Array], ChallengeRow>(
  'SELECT * FROM sign_in_challenges WHERE hash = ?',
);

/** The one that ends first at the head. */
export const challengesOfUser = allRows<[user: number], ChallengeRow>(
  'SELECT * FROM sign_in_challenges WHERE user = ? ORDER BY expires_at, hash',
);

export const insertChallenge = inserts('sign_in_challenges', CHALLENGE);

export const countAttempt = runs<[hash: Uint8Array]>(
  'UPDATE sign_in_challenges SET attempts = attempts + 1 WHERE hash = ?',
);

export const removeChallenge = runs<[hash: Uint8Array]>('DELETE FROM sign_in_challenges WHERE hash = ?');

export const removeChallengesOfUser = runs<[user: number]>('DELETE FROM sign_in_challenges WHERE user = ?');

export const removeChallengesOver = runs<[now: number]>('DELETE FROM sign_in_challenges WHERE expires_at <= ?');

/** Returns false when it was used before, on whatever node. `expiresAt`: until when that is remembered. */
export const useProof = changesAny<[hash: Uint8Array, expiresAt: number]>(
  'INSERT INTO used_proofs (hash, expires_at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING',
);

export const forgetProofs = runs<[now: number]>('DELETE FROM used_proofs WHERE expires_at <= ?');
