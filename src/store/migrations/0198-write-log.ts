/** Writes that are on their way to the log beside the backups. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Writes are logged while there is a row: a name for the numbers of one history.
CREATE TABLE write_log_series (id TEXT NOT NULL PRIMARY KEY, schema INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- Numbers without gaps, none twice; a row is removed when its write is in the log.
CREATE TABLE write_log (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Milliseconds since 1970.
  written_at INTEGER NOT NULL,
  schema INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
`,
} satisfies Steps;
