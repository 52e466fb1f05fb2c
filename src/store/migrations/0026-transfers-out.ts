/** Zone transfers to other servers: keys, networks and peers of accounts, and which zones go to which peers. */
import type { Migration } from './migration.js';

export const transfersOut: Migration = {
  version: 26,
  name: 'transfers-out',
  sql: `
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
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX transfer_peers_account ON transfer_peers (account);
CREATE INDEX transfer_peers_tsig ON transfer_peers (tsig);

-- name: as the client wrote it. history_after: number of a change; older ones are not sent as differences.
-- Times in microseconds since 1970.
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

-- Processes that hold names of keys compare this number.
CREATE TRIGGER tsig_key_added AFTER INSERT ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_changed AFTER UPDATE OF key_name, algorithm ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER tsig_key_gone AFTER DELETE ON tsig_keys
BEGIN INSERT INTO meta (name, value) VALUES ('tsig_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
`,
};
