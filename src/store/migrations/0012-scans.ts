/** What scans of zones have found and nobody has decided about yet. */
import type { Migration } from './migration.js';

export const scans: Migration = {
  version: 12,
  name: 'scans',
  sql: `
-- One row a scan; rows are few, so that no index is needed. Times are milliseconds since 1970.
CREATE TABLE scans (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  -- 1: what it finds waits for a review; 0: what it finds is added at once.
  reviewed INTEGER NOT NULL CHECK (reviewed IN (0, 1)),
  began_at INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))
) STRICT;

CREATE TABLE scan_records (
  scan INTEGER NOT NULL REFERENCES scans (seq) ON DELETE CASCADE,
  -- By which it is accepted or rejected; identifiers grow with time.
  id BLOB NOT NULL CHECK (length(id) = 16),
  -- The record as a client sees it.
  item TEXT NOT NULL CHECK (json_valid(item)),
  PRIMARY KEY (scan, id)
) STRICT, WITHOUT ROWID;
`,
};
