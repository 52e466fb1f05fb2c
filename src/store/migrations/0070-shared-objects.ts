/** Bodies of objects that several nodes read. */
import type { Migration } from './migration.js';

export const sharedObjects: Migration = {
  version: 70,
  name: 'shared objects',
  sql: `
-- When a sweep first found the body unused, milliseconds since 1970; another node may be reading it for a while.
ALTER TABLE blob_garbage ADD COLUMN noted_at INTEGER;
`,
};
