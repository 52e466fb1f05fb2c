/** Domains of e-mail addresses that accounts claim, and their verification. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- code: content of the TXT record that proves it.
CREATE TABLE sso_connectors (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  domain TEXT NOT NULL,
  code TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  status TEXT NOT NULL CHECK (status IN ('awaiting', 'pending', 'failed', 'verified')),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (account, domain)
) STRICT;
`,
} satisfies Steps;
