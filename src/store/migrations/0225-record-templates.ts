/** Named sets of records with variables, the zones that have them, and the records that came from them. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- variables, records: JSON lists, as their owner wrote them. version: counts the states of its owner's making.
CREATE TABLE dns_templates (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  variables TEXT NOT NULL CHECK (json_valid(variables)),
  records TEXT NOT NULL CHECK (json_valid(records)),
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (account, name)
) STRICT;

-- given: JSON object, the values of variables with which it was applied last.
CREATE TABLE template_zones (
  template INTEGER NOT NULL REFERENCES dns_templates (seq) ON DELETE CASCADE,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  given TEXT NOT NULL CHECK (json_valid(given)),
  version INTEGER NOT NULL,
  applied_at INTEGER NOT NULL,
  PRIMARY KEY (template, zone)
) STRICT, WITHOUT ROWID;
CREATE INDEX template_zones_zone ON template_zones (zone);

-- place: type, owner and data. record: its identifier. applied: the state that the template gave it.
CREATE TABLE template_records (
  template INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  place TEXT NOT NULL,
  record BLOB NOT NULL CHECK (length(record) = 16),
  applied TEXT NOT NULL,
  PRIMARY KEY (template, zone, place),
  FOREIGN KEY (template, zone) REFERENCES template_zones (template, zone) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
`,
} satisfies Steps;
