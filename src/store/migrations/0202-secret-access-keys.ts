/** What S3 clients sign with. */
import type { Migration } from './migration.js';

export const secretAccessKeys: Migration = {
  version: 202,
  name: 'secret access keys',
  sql: `
-- Sealed digest of the value of a token.
ALTER TABLE api_keys ADD COLUMN s3_secret BLOB;
`,
};
