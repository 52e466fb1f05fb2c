/** Zones may want each custom hostname to lead to a name of its own. */
import type { Migration } from './migration.js';

export const uniqueTargets: Migration = {
  version: 17,
  name: 'unique-targets',
  sql: `
ALTER TABLE zones ADD COLUMN unique_targets INTEGER NOT NULL DEFAULT 0 CHECK (unique_targets IN (0, 1));
ALTER TABLE zones ADD COLUMN unique_targets_modified_at INTEGER;
`,
};
