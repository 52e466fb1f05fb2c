/** The index of address records and PTR records that the setting `ptr` links. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE INDEX records_linked ON record_rows (seq) WHERE settings IS NOT NULL AND instr(settings, '"ptr":true') > 0;
`,
} satisfies Steps;
