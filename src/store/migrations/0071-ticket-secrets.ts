/** The secret of TLS session tickets, which all edges share. */
import type { Migration } from './migration.js';

export const ticketSecrets: Migration = {
  version: 71,
  name: 'ticket secrets',
  sql: `
-- secret: sealed (vault/). made_at: milliseconds since 1970.
CREATE TABLE ticket_secrets (
  number INTEGER PRIMARY KEY,
  secret BLOB NOT NULL,
  made_at INTEGER NOT NULL
) STRICT;
`,
};
