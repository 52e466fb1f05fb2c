/** What happened: the change log that DNS processes follow, the journal of zones, and the audit log. */
export const LOG = `
-- What DNS serves differently since a commit. zone is a number without a reference: the zone may be gone when the change is read.
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('zone-added', 'zone-removed', 'zone-replaced', 'rrs', 'settings', 'derived')),
  serial_from INTEGER,
  serial_to INTEGER,
  actor TEXT NOT NULL,
  request_id TEXT NOT NULL,
  -- 1: applied to the zone as it was served, it gives the zone as it is served.
  complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  -- Rdata and TTL of the SOA before and after; NULL where it stayed, or where there was none.
  soa_from BLOB,
  soa_to BLOB,
  soa_ttl_from INTEGER,
  soa_ttl_to INTEGER
) STRICT;
CREATE INDEX changes_zone ON changes (zone, seq);

-- op 0: removed; 1: added. Removed ones come first.
CREATE TABLE change_rrs (
  change INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  op INTEGER NOT NULL CHECK (op IN (0, 1)),
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  PRIMARY KEY (change, ord)
) STRICT, WITHOUT ROWID;

-- The journal: for every commit and zone what undoes it, so that records can be read, and brought back, as they were.
-- zone is a number without a reference: the zone may be gone. change: the row of the change log, when DNS had to do with it.
-- complete 0: what the zone held before is not kept. records_total: edited records of this row and all before it.
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
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  request_id TEXT NOT NULL,
  records_total INTEGER NOT NULL,
  -- What the edit meant for the zone as a whole.
  event TEXT CHECK (event IN ('served', 'withdrawn', 'signing', 'signed', 'unsigned'))
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

-- Who did what. zone and object: identifiers, which may be gone. before, after: JSON.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  action TEXT NOT NULL,
  zone BLOB,
  object BLOB,
  request_id TEXT NOT NULL,
  before TEXT,
  after TEXT,
  account INTEGER,
  actor_id BLOB,
  address TEXT
) STRICT;
CREATE INDEX audit_zone ON audit (zone, seq);
CREATE INDEX audit_account ON audit (account, seq);

-- Since when the journal has everything, microseconds since 1970, and how many records it has.
INSERT INTO meta (name, value) VALUES ('history_from', 0), ('edited_records', 0);
`;
