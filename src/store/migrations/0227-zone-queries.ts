/** What zones were asked, by the hour and by the day. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- span: seconds, those of an hour or a day; begins: seconds since 1970. total: answers.
-- detail: JSON, the names and networks that asked most (statistics/detail.ts).
CREATE TABLE zone_queries (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  span INTEGER NOT NULL CHECK (span IN (3600, 86400)),
  begins INTEGER NOT NULL,
  total INTEGER NOT NULL,
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  PRIMARY KEY (zone, span, begins)
) STRICT, WITHOUT ROWID;
CREATE INDEX zone_queries_begins ON zone_queries (span, begins);
`,
} satisfies Steps;
