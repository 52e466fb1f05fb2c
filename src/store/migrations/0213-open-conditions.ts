/** What needs somebody since when, so that events tell of it once when it begins and once when it ends. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- zone: identifier, empty for what is of no zone. since: microseconds since 1970. text: as it was when it began.
CREATE TABLE open_conditions (
  kind TEXT NOT NULL,
  zone BLOB NOT NULL,
  since INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (kind, zone)
) STRICT, WITHOUT ROWID;
`,
} satisfies Steps;
