/** Each zone has its own beginning of its kept history, because accounts lose theirs apart; how many records the journal has. */
import type { Migration } from './migration.js';

export const historyShares: Migration = {
  version: 197,
  name: 'history-shares',
  sql: `
-- Microseconds since 1970: the newest edit that is no longer kept; null: none is missing since 'history_from' in meta.
ALTER TABLE zones ADD COLUMN history_from INTEGER;
INSERT INTO meta (name, value) SELECT 'edited_records', count(*) FROM edited_records;
`,
};
