/**
 * The records of a zone are a set with a number of its own. So an import can be written in many short transactions and
 * switched in by one, and a set that is no longer used is removed in parts.
 */
import type { Migration } from './migration.js';

export const recordSets: Migration = {
  version: 29,
  name: 'record-sets',
  sql: `
-- staged: an import is writing it; used: a zone has it; unused: its rows are being removed.
CREATE TABLE record_sets (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('staged', 'used', 'unused')),
  written_at INTEGER NOT NULL
) STRICT;
INSERT INTO record_sets (number, state, written_at) SELECT seq, 'used', created_at FROM zones ORDER BY seq;
ALTER TABLE zones ADD COLUMN record_set INTEGER REFERENCES record_sets (number);
UPDATE zones SET record_set = seq;
CREATE UNIQUE INDEX zones_record_set ON zones (record_set);

-- Without a reference to the zone, because its removal would remove all records at once.
CREATE TABLE record_rows (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  record_set INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  name TEXT NOT NULL,
  type INTEGER NOT NULL,
  content TEXT NOT NULL,
  rdata BLOB NOT NULL,
  rdata_key BLOB NOT NULL,
  ttl INTEGER NOT NULL,
  proxied INTEGER NOT NULL,
  settings TEXT,
  comment TEXT,
  tags TEXT,
  private_routing INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  comment_modified_at INTEGER,
  tags_modified_at INTEGER
) STRICT;
INSERT INTO record_rows (seq, record_set, id, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, settings, comment, tags,
    private_routing, created_at, modified_at, comment_modified_at, tags_modified_at)
  SELECT seq, zone, id, owner_key, name, type, content, rdata, rdata_key, ttl, proxied, settings, comment, tags,
    private_routing, created_at, modified_at, comment_modified_at, tags_modified_at FROM records ORDER BY seq;
DROP TABLE records;
CREATE UNIQUE INDEX records_owner ON record_rows (record_set, owner_key, type, rdata_key);
CREATE INDEX records_cname ON record_rows (record_set, owner_key) WHERE type = 5;
CREATE INDEX records_data ON record_rows (record_set, type, rdata_key);
CREATE INDEX records_proxied ON record_rows (record_set) WHERE proxied = 1;

-- The records that zones have.
CREATE VIEW records AS SELECT r.seq, r.id, z.seq AS zone, r.owner_key, r.name, r.type, r.content, r.rdata, r.rdata_key,
  r.ttl, r.proxied, r.settings, r.comment, r.tags, r.private_routing, r.created_at, r.modified_at,
  r.comment_modified_at, r.tags_modified_at
  FROM record_rows r JOIN zones z ON z.record_set = r.record_set;

CREATE TRIGGER edge_origin_added AFTER INSERT ON record_rows WHEN NEW.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_changed AFTER UPDATE ON record_rows WHEN NEW.proxied = 1 OR OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_gone AFTER DELETE ON record_rows WHEN OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = OLD.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = OLD.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_records_replaced AFTER UPDATE OF record_set ON zones
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(NEW.seq AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.seq);
END;
`,
};
