/** Records of zones, what was found elsewhere, and the addresses of flattened names. */
export const RECORDS = `
-- The records of a zone are a set with a number of its own. So an import can be written in many short transactions and switched in
-- by one, and a set that is no longer used is removed in parts.
-- staged: being written; used: a zone has it; unused: its rows are being removed.
CREATE TABLE record_sets (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('staged', 'used', 'unused')),
  written_at INTEGER NOT NULL
) STRICT;

-- Without a reference to the zone, because its removal would remove all records at once. Rows of different sets may have the same
-- id: a set can hold copies of rows of another one, and the zone's own set decides which row an id means.
-- rdata_key finds duplicates: the type's duplicate key, or its SHA-256 when it is longer than 64 octets.
CREATE TABLE record_rows (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL,
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
CREATE INDEX records_id ON record_rows (id);
CREATE UNIQUE INDEX records_owner ON record_rows (record_set, owner_key, type, rdata_key);
CREATE INDEX records_cname ON record_rows (record_set, owner_key) WHERE type = 5;
CREATE INDEX records_data ON record_rows (record_set, type, rdata_key);
CREATE INDEX records_proxied ON record_rows (record_set) WHERE proxied = 1;

-- The records that zones have.
CREATE VIEW records AS SELECT r.seq, r.id, z.seq AS zone, r.owner_key, r.name, r.type, r.content, r.rdata, r.rdata_key,
  r.ttl, r.proxied, r.settings, r.comment, r.tags, r.private_routing, r.created_at, r.modified_at,
  r.comment_modified_at, r.tags_modified_at
  FROM record_rows r JOIN zones z ON z.record_set = r.record_set;

-- What searches for the records that a domain has elsewhere have found. Rows are few, so that no index is needed. Times are
-- milliseconds since 1970.
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

-- Owners whose CNAME is flattened, or would be. target: lower-case wire name.
CREATE TABLE flatten_owners (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  target BLOB NOT NULL,
  -- 1: the owner answers the target's addresses. 0: it is proxied, and only whether the target leads somewhere is of interest.
  answered INTEGER NOT NULL DEFAULT 1 CHECK (answered IN (0, 1)),
  PRIMARY KEY (zone, owner_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX flatten_owners_target ON flatten_owners (target);

-- ipv4, ipv6: addresses one after the other, sorted; NULL when nothing usable was heard. own 1: part of the answer is from our own
-- zones. refresh_at, when to ask again, is milliseconds.
CREATE TABLE flatten_targets (
  name BLOB PRIMARY KEY,
  ipv4 BLOB,
  ipv6 BLOB,
  ttl INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
  stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
  own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1)),
  failures INTEGER NOT NULL DEFAULT 0,
  resolved_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0,
  refresh_at INTEGER NOT NULL DEFAULT 0,
  chain TEXT,
  reason TEXT
) STRICT;
CREATE INDEX flatten_targets_due ON flatten_targets (refresh_at);

-- Names of our own zones that an answer came from: when one changes, the target is asked for again.
CREATE TABLE flatten_links (
  name BLOB NOT NULL,
  target BLOB NOT NULL,
  PRIMARY KEY (name, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX flatten_links_target ON flatten_links (target);
`;
