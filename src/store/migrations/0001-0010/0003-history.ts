/**
 * The journal of zones: for every commit and zone what undoes it, so that records can be read, and brought back, as they were.
 * Whether a zone ever had a hold, and whose account and address an entry of the audit log belongs to.
 */
import type { Migration } from '../migration.js';

export const history: Migration = {
  version: 3,
  name: 'history',
  sql: `
ALTER TABLE zones ADD COLUMN hold_set INTEGER NOT NULL DEFAULT 0 CHECK (hold_set IN (0, 1));
UPDATE zones SET hold_set = 1 WHERE hold_after IS NOT NULL;

-- zone is a number without a reference: the zone may be gone. change: the row of the change log, when DNS had to do with it.
-- complete 0: what the zone held before is not kept. soa_from, soa_to: rdata of the SOA before and after.
-- records_total: edited records of this row and all before it.
CREATE TABLE zone_edits (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  zone INTEGER NOT NULL,
  version INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('added', 'records', 'settings', 'replaced')),
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  change INTEGER,
  serial_from INTEGER,
  serial_to INTEGER NOT NULL,
  soa_from BLOB,
  soa_to BLOB,
  soa_ttl_from INTEGER,
  soa_ttl_to INTEGER,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  request_id TEXT NOT NULL,
  records_total INTEGER NOT NULL
) STRICT;
CREATE INDEX zone_edits_zone ON zone_edits (zone, seq);
CREATE INDEX zone_edits_change ON zone_edits (change) WHERE change IS NOT NULL;

-- was: the record before the edit as JSON; NULL when there was none.
CREATE TABLE edited_records (
  edit INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  id BLOB NOT NULL,
  was TEXT,
  PRIMARY KEY (edit, ord)
) STRICT, WITHOUT ROWID;

-- Zones that are there already have no history before now.
INSERT INTO meta (name, value)
  SELECT 'history_from', CASE WHEN EXISTS (SELECT 1 FROM zones) THEN CAST(strftime('%s', 'now') AS INTEGER) * 1000000 ELSE 0 END;

ALTER TABLE audit ADD COLUMN account INTEGER;
ALTER TABLE audit ADD COLUMN actor_id BLOB;
ALTER TABLE audit ADD COLUMN address TEXT;
UPDATE audit SET account = (SELECT zones.account FROM zones WHERE zones.id = audit.zone) WHERE zone IS NOT NULL;
CREATE INDEX audit_account ON audit (account, seq);
`,
};
