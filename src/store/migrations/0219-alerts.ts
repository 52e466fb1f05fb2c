/** Alerts: destinations, the policies that name them, and deliveries. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE TABLE alert_destinations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('webhook', 'email')),
  name TEXT NOT NULL,
  -- A URL, or an address for mail.
  address TEXT NOT NULL,
  -- Sealed; NULL: none.
  secret BLOB,
  -- Number of the last event that it was told of, or that is none of its business.
  position INTEGER NOT NULL,
  last_success INTEGER,
  last_failure INTEGER,
  -- Since the last success.
  failures INTEGER NOT NULL,
  failing_since INTEGER,
  retry_at INTEGER,
  -- Not NULL: nothing is sent to it.
  disabled_at INTEGER,
  disabled_why TEXT,
  -- Counts what its owner does, so that what belongs to an earlier state is told apart.
  edition INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_destinations_account ON alert_destinations (account);

-- filters: JSON, lists by name. mechanisms: JSON list of identifiers of destinations.
CREATE TABLE alert_policies (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  alert_type TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  filters TEXT NOT NULL CHECK (json_valid(filters)),
  mechanisms TEXT NOT NULL CHECK (json_valid(mechanisms)),
  -- 1: an administrator made it, so it is told of events that belong to no account, too.
  sees_installation INTEGER NOT NULL CHECK (sees_installation IN (0, 1)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_policies_account ON alert_policies (account);

CREATE TABLE alert_deliveries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  destination INTEGER NOT NULL REFERENCES alert_destinations (seq) ON DELETE CASCADE,
  policy BLOB,
  alert_type TEXT NOT NULL,
  -- Number of the event; NULL: a test.
  event INTEGER,
  -- By which the receiver recognises a repetition.
  message TEXT NOT NULL,
  at_us INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  delivered INTEGER NOT NULL CHECK (delivered IN (0, 1)),
  status INTEGER,
  -- Why it failed.
  reason TEXT,
  -- The beginning of what was answered.
  answer TEXT,
  duration_ms INTEGER NOT NULL,
  -- The beginning of what was sent.
  body TEXT NOT NULL
) STRICT;
CREATE INDEX alert_deliveries_destination ON alert_deliveries (destination, seq);
CREATE INDEX alert_deliveries_account ON alert_deliveries (account, at_us);
`,
} satisfies Steps;
