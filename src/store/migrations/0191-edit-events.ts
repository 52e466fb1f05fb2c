/** What an edit of the journal meant for the zone as a whole, such as that it is served with signatures from then on. */
import type { Migration } from './migration.js';

export const editEvents: Migration = {
  version: 191,
  name: 'edit-events',
  sql: `
ALTER TABLE zone_edits ADD COLUMN event TEXT CHECK (event IN ('served', 'withdrawn', 'signing', 'signed', 'unsigned'));
`,
};
