/** Indexes for pages of long lists: of zones in the order of their names, of records by type and data. */
import type { Migration } from '../migration.js';

export const lists: Migration = {
  version: 6,
  name: 'lists',
  sql: `
-- Holds all that the usual filters look at, so that pages are found without the rows.
CREATE INDEX zones_list ON zones (name, id, type, account, status);
CREATE INDEX records_data ON records (zone, type, rdata_key);
`,
};
