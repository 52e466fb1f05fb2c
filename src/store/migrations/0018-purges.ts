/** What was purged from the caches of the edge. */
import type { Migration } from './migration.js';

export const purges: Migration = {
  version: 18,
  name: 'purges',
  sql: `
-- Edge processes read them in order. items: JSON list of URLs, tags, host names or prefixes; empty for everything.
-- zone: store number; the zone may be gone. at_us: microseconds since 1970.
CREATE TABLE purges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('purge_everything', 'files', 'tags', 'hosts', 'prefixes')),
  items TEXT NOT NULL CHECK (json_valid(items))
) STRICT;
`,
};
