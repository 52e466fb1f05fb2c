/** What clients say about the checksum of an object when they begin its upload. */
import type { Migration } from './migration.js';

export const checksumTypes: Migration = {
  version: 224,
  name: 'checksum-types',
  sql: `
ALTER TABLE uploads ADD COLUMN checksum_type TEXT CHECK (checksum_type IN ('FULL_OBJECT', 'COMPOSITE'));
`,
};
