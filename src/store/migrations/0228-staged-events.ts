/** Events of very large edits, which are stored before the edits happen. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- They have happened when the edit is one of a zone, and become rows of events then. events: JSON (store/log/events.ts).
CREATE TABLE staged_events (
  edit INTEGER NOT NULL REFERENCES zone_edits (seq) ON DELETE CASCADE,
  ord INTEGER NOT NULL,
  events TEXT NOT NULL CHECK (json_valid(events)),
  PRIMARY KEY (edit, ord)
) STRICT, WITHOUT ROWID;
`,
} satisfies Steps;
