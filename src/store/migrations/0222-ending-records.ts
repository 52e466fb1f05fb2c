/** The index of records that end at a time. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE INDEX records_ending ON record_rows (record_set, json_extract(settings, '$.expires_at'))
  WHERE settings IS NOT NULL AND instr(settings, '"expires_at":') > 0;
`,
} satisfies Steps;
