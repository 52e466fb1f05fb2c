/** The audit log becomes the outbox: a row for every commit and subject, with the names that they had then. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- name, zone_name: of what it was about, as people call it; NULL in rows of before.
-- credential: the token, key or TSIG key with which it was done; NULL for the operator and the service.
-- change: number of what changed in DNS with it.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  zone BLOB,
  subject BLOB,
  request_id TEXT NOT NULL,
  before TEXT,
  after TEXT,
  account INTEGER,
  actor_id BLOB,
  address TEXT,
  name TEXT,
  zone_name TEXT,
  credential BLOB,
  credential_name TEXT,
  change INTEGER
) STRICT;
INSERT INTO events (seq, at_us, actor, actor_kind, source, kind, zone, subject, request_id, before, after, account, actor_id, address)
  SELECT seq, at_us, actor, actor_kind, source, action, zone, object, request_id, before, after, account, actor_id, address
  FROM audit ORDER BY seq;
-- Numbers of rows that are gone are not given again.
DELETE FROM sqlite_sequence WHERE name = 'events';
UPDATE sqlite_sequence SET name = 'events' WHERE name = 'audit';
DROP TABLE audit;
CREATE INDEX events_zone ON events (zone, seq);
CREATE INDEX events_account ON events (account, seq);
`,
} satisfies Steps;
