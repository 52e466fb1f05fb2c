/** Zones that are transferred from their primaries. */
import type { Migration } from './migration.js';

export const transfersIn: Migration = {
  version: 36,
  name: 'transfers-in',
  sql: `
-- Whether the copy of a secondary zone may not be served: there is none yet, or no primary was reached for too long.
ALTER TABLE zones ADD COLUMN expired INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1));

-- For transfers over TLS (RFC 9103): the name in the primary's certificate, and the SHA-256 hash of its public key.
ALTER TABLE transfer_peers ADD COLUMN tls_name TEXT;
ALTER TABLE transfer_peers ADD COLUMN tls_pin BLOB CHECK (length(tls_pin) = 32);

-- name: as the client wrote it. refresh: seconds between two checks; NULL: those of the SOA. serial: the one of the
-- primary's version that is stored. forced: transfer whatever the serial. Times in microseconds since 1970.
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

-- Processes that hold names of secondary zones compare this number.
CREATE TRIGGER zone_incoming_added AFTER INSERT ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
CREATE TRIGGER zone_incoming_gone AFTER DELETE ON zone_incoming
BEGIN INSERT INTO meta (name, value) VALUES ('incoming_version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; END;
`,
};
