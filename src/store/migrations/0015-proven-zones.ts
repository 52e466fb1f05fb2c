/** Whether a zone's name is known to be its account's. */
import type { Migration } from './migration.js';

export const provenZones: Migration = {
  version: 15,
  name: 'proven zones',
  sql: `
-- 1: the parent delegated the name to this service, or an administrator vouched for it. Zones that are active count until now.
ALTER TABLE zones ADD COLUMN proven INTEGER NOT NULL DEFAULT 0 CHECK (proven IN (0, 1));
UPDATE zones SET proven = 1 WHERE status = 'active';
`,
};
