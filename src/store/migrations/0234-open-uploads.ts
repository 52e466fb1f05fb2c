/** Open uploads of a bucket and their octets are found without looking at those that have become objects. */
import type { Steps } from './migration.js';

export default {
  canWait: true,
  sql: `
CREATE INDEX uploads_open_by_key ON uploads (bucket, key, seq, size) WHERE completed_at IS NULL;
`,
} satisfies Steps;
