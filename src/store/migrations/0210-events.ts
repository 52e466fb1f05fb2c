/** The audit log becomes the outbox: a row for every commit and subject, with the names that they had then. */
import type { Migration } from './migration.js';

export const events: Migration = {
  version: 210,
  name: 'events',
  sql: `
ALTER TABLE audit RENAME TO events;
ALTER TABLE events RENAME COLUMN action TO kind;
ALTER TABLE events RENAME COLUMN object TO subject;
-- What it was about, as people call it; NULL in rows of before.
ALTER TABLE events ADD COLUMN name TEXT;
ALTER TABLE events ADD COLUMN zone_name TEXT;
-- The token, key or TSIG key with which it was done; NULL for the operator and the service.
ALTER TABLE events ADD COLUMN credential BLOB;
ALTER TABLE events ADD COLUMN credential_name TEXT;
-- Number of what changed in DNS with it.
ALTER TABLE events ADD COLUMN change INTEGER;
DROP INDEX audit_zone;
DROP INDEX audit_account;
CREATE INDEX events_zone ON events (zone, seq);
CREATE INDEX events_account ON events (account, seq);
`,
};
