/**
 * Rows of different sets may have the same identifier, so that a set can hold copies of rows of another one. The zone's own set
 * decides which row an identifier means.
 */
import type { Migration } from './migration.js';

export const recordIdentifiers: Migration = {
  version: 141,
  name: 'record-identifiers',
  sql: `
-- The index behind UNIQUE becomes an ordinary one. Both have the same form on disk, the indexed column and the number of the row
-- (SQLite, "Database File Format", 2.6), so only what describes them changes: building table and indexes anew would take some ten
-- seconds for a million records.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'id BLOB NOT NULL UNIQUE', 'id BLOB NOT NULL')
  WHERE type = 'table' AND name = 'record_rows';
UPDATE sqlite_schema SET name = 'records_id', sql = 'CREATE INDEX records_id ON record_rows (id)'
  WHERE type = 'index' AND name = 'sqlite_autoindex_record_rows_1';
PRAGMA writable_schema = RESET;
-- Other connections read the description again when the schema has changed in the ordinary way.
CREATE VIEW schema_changed AS SELECT 1;
DROP VIEW schema_changed;
`,
};
