/** The index of address records and PTR records that the setting `ptr` links. */
import type { Migration } from './migration.js';

export const linkedRecords: Migration = {
  version: 220,
  name: 'linked-records',
  sql: `
CREATE INDEX records_linked ON record_rows (seq) WHERE settings IS NOT NULL AND instr(settings, '"ptr":true') > 0;
`,
};
