/** Zones that a catalog of another server does not have any more: they are kept for a while, and not served. */
import type { Migration } from './migration.js';

export const removedZones: Migration = {
  version: 90,
  name: 'removed-zones',
  sql: `
-- catalog: NULL when it is not followed any more; catalog_name: its name then. member_id: the label under which the zone stood in it.
-- removed_at, kept_until: microseconds since 1970.
CREATE TABLE removed_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  catalog INTEGER REFERENCES consumed_catalogs (seq) ON DELETE SET NULL,
  catalog_name TEXT NOT NULL,
  member_id TEXT NOT NULL,
  removed_at INTEGER NOT NULL,
  kept_until INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_zones_catalog ON removed_zones (catalog);
`,
};
