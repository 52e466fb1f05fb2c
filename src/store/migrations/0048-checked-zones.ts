/** Finds the secondary zones that were checked last. */
import type { Migration } from './migration.js';

export const checkedZones: Migration = {
  version: 48,
  name: 'checked-zones',
  sql: `
CREATE INDEX zone_incoming_checked ON zone_incoming (checked_at);
`,
};
