/** People sign in as themselves: their factors, and sessions that are theirs. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- 1: nothing of this user is accepted, neither sessions nor keys nor tokens.
ALTER TABLE users ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1));
-- 1: sessions of members without a second factor can only enrol one.
ALTER TABLE accounts ADD COLUMN enforce_twofactor INTEGER NOT NULL DEFAULT 0 CHECK (enforce_twofactor IN (0, 1));

-- credential NULL: the user themself, who signed in with what how says.
CREATE TABLE new_sessions (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  credential INTEGER REFERENCES api_keys (seq) ON DELETE CASCADE,
  -- The hash that the credential had then: a session ends when its credential gets another secret.
  credential_hash BLOB CHECK (credential_hash IS NULL OR length(credential_hash) = 32),
  -- Words: credential link password totp recovery passkey oidc.
  how TEXT NOT NULL,
  -- When the person last proved who they are.
  proved_at INTEGER NOT NULL,
  -- Of single sign-on: the provider, and its names of the person and of its own session.
  provider BLOB,
  provider_subject TEXT,
  provider_session TEXT,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
INSERT INTO new_sessions (seq, id, hash, user, credential, credential_hash, how, proved_at, address, user_agent, created_at,
    last_used_at, expires_at)
  SELECT s.seq, s.id, s.hash, k.user, s.credential, s.credential_hash, 'credential', s.created_at, s.address, s.user_agent,
    s.created_at, s.last_used_at, s.expires_at
  FROM sessions s JOIN api_keys k ON k.seq = s.credential ORDER BY s.seq;
DROP TABLE sessions;
ALTER TABLE new_sessions RENAME TO sessions;
CREATE INDEX sessions_credential ON sessions (credential);
CREATE INDEX sessions_user ON sessions (user);

-- hash: in PHC string format.
CREATE TABLE passwords (
  user INTEGER PRIMARY KEY REFERENCES users (seq) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  set_at INTEGER NOT NULL
) STRICT;

-- secret: sealed. confirmed 0: no code of it has been seen yet, and it does not count.
CREATE TABLE one_time_passwords (
  user INTEGER PRIMARY KEY REFERENCES users (seq) ON DELETE CASCADE,
  secret BLOB NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;

-- id: of the credential, as the authenticator chose it. public_key: COSE.
CREATE TABLE passkeys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  public_key BLOB NOT NULL,
  sign_count INTEGER NOT NULL,
  name TEXT NOT NULL,
  transports TEXT NOT NULL CHECK (json_valid(transports)),
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;
CREATE INDEX passkeys_user ON passkeys (user);

-- Removed when it is used.
CREATE TABLE recovery_codes (
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (user, hash)
) STRICT, WITHOUT ROWID;

-- A sign-in that waits for its second factor.
CREATE TABLE sign_in_challenges (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  how TEXT NOT NULL,
  provider BLOB,
  provider_subject TEXT,
  provider_session TEXT,
  attempts INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_challenges_user ON sign_in_challenges (user);

-- What counts once: codes, and answers of authenticators and providers. Kept until it would count no longer anyway.
CREATE TABLE used_proofs (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Links to hand on. kind: what they are for. Removed when they are used.
CREATE TABLE user_links (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('sign-in', 'password')),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX user_links_user ON user_links (user);
`,
} satisfies Steps;
