/** Sessions of browsers, and links that begin one. */
import type { Migration } from './migration.js';

export const sessions: Migration = {
  version: 30,
  name: 'sessions',
  sql: `
-- A browser that works with a credential until it signs out. credential_hash is the hash that the credential had when the
-- session began: a session ends when its credential gets another secret.
CREATE TABLE sessions (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_credential ON sessions (credential);

-- Removed when it is used.
CREATE TABLE login_links (
  seq INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_links_credential ON login_links (credential);
`,
};
