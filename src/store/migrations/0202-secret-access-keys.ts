/** What S3 clients sign with. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Sealed digest of the value of a token.
ALTER TABLE api_keys ADD COLUMN s3_secret BLOB;
`,
} satisfies Steps;
