/** What is ordered at authorities, which limit it for everybody here together. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Orders of the last hour or so. account: store number; 0: the installation itself. kept: for a name that is already active, or a renewal.
CREATE TABLE order_starts (
  seq INTEGER PRIMARY KEY,
  authority TEXT NOT NULL,
  account INTEGER NOT NULL,
  kept INTEGER NOT NULL CHECK (kept IN (0, 1)),
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX order_starts_by_time ON order_starts (authority, at_ms);
`,
} satisfies Steps;
