/** Dynamic updates: what keys may change, and which messages were applied. */
import type { Migration } from './migration.js';

export const updates: Migration = {
  version: 34,
  name: 'updates',
  sql: `
-- JSON list of policies; NULL: the key may change nothing.
ALTER TABLE tsig_keys ADD COLUMN policies TEXT;

-- Messages that were applied, so that one that is sent again is not: the MAC of its signature, and when the
-- signature expires, in seconds since 1970.
CREATE TABLE applied_updates (
  tsig INTEGER NOT NULL REFERENCES tsig_keys (seq) ON DELETE CASCADE,
  mac BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tsig, mac)
) STRICT, WITHOUT ROWID;
CREATE INDEX applied_updates_expiry ON applied_updates (expires_at);
`,
};
