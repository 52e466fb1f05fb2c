/** Targets of flattened names: what was heard of them, which owners answer it, and which of our own names it came from. */
import type { Migration } from '../migration.js';

export const flattening: Migration = {
  version: 4,
  name: 'flattening',
  sql: `
CREATE INDEX records_cname ON records (zone, owner_key) WHERE type = 5;

-- Owners whose CNAME is flattened, or would be. target: lower-case wire name.
CREATE TABLE flatten_owners (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  target BLOB NOT NULL,
  PRIMARY KEY (zone, owner_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX flatten_owners_target ON flatten_owners (target);

-- ipv4, ipv6: addresses one after the other, sorted; NULL when nothing usable was heard. Times are microseconds since 1970,
-- but refresh_at, when to ask (again), is milliseconds. own 1: part of the answer is from our own zones.
CREATE TABLE flatten_targets (
  name BLOB PRIMARY KEY,
  ipv4 BLOB,
  ipv6 BLOB,
  ttl INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
  stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
  own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1)),
  failures INTEGER NOT NULL DEFAULT 0,
  resolved_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0,
  refresh_at INTEGER NOT NULL DEFAULT 0,
  chain TEXT,
  reason TEXT
) STRICT;
CREATE INDEX flatten_targets_due ON flatten_targets (refresh_at);

-- Names of our own zones an answer came from: when one changes, the target is asked for again.
CREATE TABLE flatten_links (
  name BLOB NOT NULL,
  target BLOB NOT NULL,
  PRIMARY KEY (name, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX flatten_links_target ON flatten_links (target);
`,
};
