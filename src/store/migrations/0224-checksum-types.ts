/** What clients say about the checksum of an object when they begin its upload. */
import type { Steps } from './migration.js';

export default {
  sql: `
ALTER TABLE uploads ADD COLUMN checksum_type TEXT CHECK (checksum_type IN ('FULL_OBJECT', 'COMPOSITE'));
`,
} satisfies Steps;
