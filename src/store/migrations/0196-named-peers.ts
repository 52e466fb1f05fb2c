/** Whether the operator named a peer's address, which may then be a private one. */
import type { Migration } from './migration.js';

export const namedPeers: Migration = {
  version: 196,
  name: 'named-peers',
  sql: `
ALTER TABLE transfer_peers ADD COLUMN by_operator INTEGER NOT NULL DEFAULT 0 CHECK (by_operator IN (0, 1));
-- Who is alone is the operator.
UPDATE transfer_peers SET by_operator = 1 WHERE (SELECT count(*) FROM accounts) = 1;
`,
};
