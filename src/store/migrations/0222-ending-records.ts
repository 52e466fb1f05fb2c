/** The index of records that end at a time. */
import type { Migration } from './migration.js';

export const endingRecords: Migration = {
  version: 222,
  name: 'ending-records',
  sql: `
CREATE INDEX records_ending ON record_rows (record_set, json_extract(settings, '$.expires_at'))
  WHERE settings IS NOT NULL AND instr(settings, '"expires_at":') > 0;
`,
};
