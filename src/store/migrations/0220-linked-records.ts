/** The index of records that are kept together by their setting `ptr`. */
import type { Migration } from './migration.js';

export const linkedRecords: Migration = {
  version: 220,
  name: 'linked-records',
  sql: `
CREATE INDEX records_linked ON record_rows (seq) WHERE settings IS NOT NULL AND instr(settings, '"ptr":true') > 0;
`,
};
