/**
 * Other servers: keys, networks and peers of accounts, zones that go to them or come from them, dynamic updates, and catalog zones.
 */
export const TRANSFERS = `
-- name and algorithm: as the client wrote them; key_name: the wire name in lower case. secret: sealed.
CREATE TABLE tsig_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  key_name BLOB NOT NULL,
  algorithm TEXT NOT NULL,
  secret BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  -- JSON list of what dynamic updates with the key may change; NULL: nothing.
  policies TEXT,
  UNIQUE (account, key_name)
) STRICT;

CREATE TABLE transfer_acls (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  ip_range TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX transfer_acls_account ON transfer_acls (account);

CREATE TABLE transfer_peers (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  ip TEXT,
  port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  ixfr_enable INTEGER NOT NULL CHECK (ixfr_enable IN (0, 1)),
  tsig INTEGER REFERENCES tsig_keys (seq),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  -- For transfers over TLS (RFC 9103): the name in the primary's certificate, and the SHA-256 hash of its public key.
  tls_name TEXT,
  tls_pin BLOB CHECK (length(tls_pin) = 32),
  -- The operator named the address, which may then be a private one.
  by_operator INTEGER NOT NULL DEFAULT 0 CHECK (by_operator IN (0, 1))
) STRICT;
CREATE INDEX transfer_peers_account ON transfer_peers (account);
CREATE INDEX transfer_peers_tsig ON transfer_peers (tsig);

-- Zones that other servers transfer. name: as the client wrote it. history_after: number of a change; older ones are not sent as
-- differences.
CREATE TABLE zone_outgoing (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  history_after INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  checked_at INTEGER,
  transferred_at INTEGER
) STRICT;
CREATE INDEX zone_outgoing_modified ON zone_outgoing (modified_at);

-- serial: the one that the peer answered last, at seen_at; error: why it did not answer at the last attempt.
CREATE TABLE zone_peers (
  zone INTEGER NOT NULL REFERENCES zone_outgoing (zone) ON DELETE CASCADE,
  peer INTEGER NOT NULL REFERENCES transfer_peers (seq),
  ord INTEGER NOT NULL,
  serial INTEGER,
  seen_at INTEGER,
  error TEXT,
  PRIMARY KEY (zone, peer)
) STRICT, WITHOUT ROWID;
CREATE INDEX zone_peers_peer ON zone_peers (peer);

-- Zones that are transferred from their primaries. refresh: seconds between two checks; NULL: those of the SOA. serial: the one of the
-- primary's version that is stored. forced: transfer whatever the serial.
CREATE TABLE zone_incoming (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  refresh INTEGER,
  serial INTEGER,
  forced INTEGER NOT NULL DEFAULT 0 CHECK (forced IN (0, 1)),
  failures INTEGER NOT NULL DEFAULT 0,
  checked_at INTEGER,
  transferred_at INTEGER,
  expires_at INTEGER,
  next_at INTEGER,
  error TEXT,
  notice TEXT,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX zone_incoming_checked ON zone_incoming (checked_at);

-- serial: the one that the primary answered last, at seen_at; error: why it did not at the last attempt.
CREATE TABLE zone_primaries (
  zone INTEGER NOT NULL REFERENCES zone_incoming (zone) ON DELETE CASCADE,
  peer INTEGER NOT NULL REFERENCES transfer_peers (seq),
  ord INTEGER NOT NULL,
  serial INTEGER,
  seen_at INTEGER,
  error TEXT,
  PRIMARY KEY (zone, peer)
) STRICT, WITHOUT ROWID;
CREATE INDEX zone_primaries_peer ON zone_primaries (peer);

-- Messages that were applied, so that one that is sent again is not: the MAC of its signature, and when the signature expires, in
-- seconds since 1970.
CREATE TABLE applied_updates (
  tsig INTEGER NOT NULL REFERENCES tsig_keys (seq) ON DELETE CASCADE,
  mac BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tsig, mac)
) STRICT, WITHOUT ROWID;
CREATE INDEX applied_updates_expiry ON applied_updates (expires_at);

-- Catalog zones (RFC 9432) of this server. zone: the catalog zone itself. members: which zones of the account are in it, all of them or
-- those that go to its peers.
CREATE TABLE catalogs (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  zone INTEGER NOT NULL UNIQUE REFERENCES zones (seq) ON DELETE CASCADE,
  members TEXT NOT NULL CHECK (members IN ('all', 'linked')),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX catalogs_account ON catalogs (account);

-- member_id: the label under which a zone stands in the catalog; another one makes consumers begin anew with the zone.
-- moved_to: the catalog to which the zone goes over, since moved_at.
CREATE TABLE catalog_members (
  catalog INTEGER NOT NULL REFERENCES catalogs (seq) ON DELETE CASCADE,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  member_id BLOB NOT NULL CHECK (length(member_id) = 16),
  grp TEXT,
  moved_to INTEGER REFERENCES catalogs (seq) ON DELETE SET NULL,
  moved_at INTEGER,
  PRIMARY KEY (catalog, zone)
) STRICT, WITHOUT ROWID;
CREATE INDEX catalog_members_zone ON catalog_members (zone);
CREATE INDEX catalog_members_moved_to ON catalog_members (moved_to) WHERE moved_to IS NOT NULL;

-- Catalog zones of other servers, whose members are secondary zones here. zone: the catalog zone itself, a secondary one. serial: the
-- version that was followed last. fault: why the newest one is not. held: zones that would go but wait for a person; confirmed: the
-- serial for which a person let them go.
CREATE TABLE consumed_catalogs (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  zone INTEGER NOT NULL UNIQUE REFERENCES zones (seq) ON DELETE CASCADE,
  serial INTEGER,
  fault TEXT,
  held INTEGER NOT NULL DEFAULT 0,
  confirmed INTEGER,
  followed_at INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX consumed_catalogs_account ON consumed_catalogs (account);

-- name: of the member zone. member_id: the label under which it stands in the catalog. zone: the zone here; NULL when there is none, for
-- the reason in problem. moves_to: name of the catalog to which it goes over.
CREATE TABLE consumed_members (
  catalog INTEGER NOT NULL REFERENCES consumed_catalogs (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  member_id TEXT NOT NULL,
  zone INTEGER UNIQUE REFERENCES zones (seq) ON DELETE SET NULL,
  grp TEXT,
  moves_to TEXT,
  problem TEXT,
  PRIMARY KEY (catalog, name)
) STRICT, WITHOUT ROWID;

-- Zones that a catalog of another server does not have any more: they are kept for a while, and not served. catalog: NULL when it is
-- not followed any more; catalog_name: its name then. member_id: the label under which the zone stood in it.
CREATE TABLE removed_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  catalog INTEGER REFERENCES consumed_catalogs (seq) ON DELETE SET NULL,
  catalog_name TEXT NOT NULL,
  member_id TEXT NOT NULL,
  removed_at INTEGER NOT NULL,
  kept_until INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_zones_catalog ON removed_zones (catalog);

-- Processes that hold names of keys, or of secondary zones, compare these numbers.
CREATE TRIGGER tsig_key_added AFTER INSERT ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_changed AFTER UPDATE OF key_name, algorithm ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_gone AFTER DELETE ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER zone_incoming_added AFTER INSERT ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER zone_incoming_gone AFTER DELETE ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
`;
