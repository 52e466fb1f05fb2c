/** The DS records that the parents of signed zones have, and when signatures are to be removed. */
import type { Migration } from './migration.js';

export const dnssecParents: Migration = {
  version: 27,
  name: 'dnssec-parents',
  sql: `
-- A row for each signed zone whose parent was asked, or for which a user said what it has.
-- servers: JSON, what each server of the parent answered. checked_at: microseconds since 1970.
-- agreed: JSON list of DS contents that all servers have; NULL while they differ or one does not answer.
-- since: when they began to have it, microseconds since 1970. ttl: of the DS records they had last, seconds.
-- remove_at: when keys and signatures are removed because a user asked for it, microseconds since 1970.
CREATE TABLE dnssec_parents (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  servers TEXT NOT NULL DEFAULT '[]',
  checked_at INTEGER,
  agreed TEXT,
  since INTEGER,
  ttl INTEGER NOT NULL DEFAULT 86400,
  remove_at INTEGER
) STRICT;
`,
};
