/** Signed zones: their state, their keys, and the signatures of their owners. */
import type { Migration } from './migration.js';

export const dnssec: Migration = {
  version: 23,
  name: 'dnssec',
  sql: `
-- 1: served with signatures. 2: has a row in dnssec_zones, but is served without signatures.
ALTER TABLE zones ADD COLUMN signed INTEGER NOT NULL DEFAULT 0 CHECK (signed IN (0, 1, 2));

-- A row for each zone that is signed, is being signed, or is being unsigned.
-- state: that of the delegation: pending, active, pending-disabled, disabled.
-- phase: 'data' and 'chain' while a zone that is not served signed yet is signed; 'signed'; 'unsigning'.
-- cursor: the last owner that the phase has done. walk: the last owner for which a re-signing of the whole zone has come.
-- denial: what is served. next_denial: the kind that is being prepared.
-- delete_form: whether CDS and CDNSKEY ask the parent to remove its DS (RFC 8078 §4).
-- newest_inception: the newest beginning of a signature, seconds since 1970. largest_ttl: of signed data, seconds.
-- ds_seen_at, walked_at (when the last such re-signing ended), modified_at: microseconds since 1970.
CREATE TABLE dnssec_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'pending-disabled', 'disabled')),
  phase TEXT NOT NULL CHECK (phase IN ('data', 'chain', 'signed', 'unsigning')),
  cursor BLOB,
  walk BLOB,
  walked_at INTEGER,
  denial TEXT NOT NULL CHECK (denial IN ('nsec', 'nsec3')),
  next_denial TEXT CHECK (next_denial IN ('nsec', 'nsec3')),
  iterations INTEGER NOT NULL DEFAULT 0,
  salt BLOB NOT NULL DEFAULT X'',
  opt_out INTEGER NOT NULL DEFAULT 0 CHECK (opt_out IN (0, 1)),
  delete_form INTEGER NOT NULL DEFAULT 0 CHECK (delete_form IN (0, 1)),
  presigned INTEGER NOT NULL DEFAULT 0 CHECK (presigned IN (0, 1)),
  newest_inception INTEGER NOT NULL DEFAULT 0,
  largest_ttl INTEGER NOT NULL DEFAULT 0,
  ds_seen_at INTEGER,
  modified_at INTEGER NOT NULL
) STRICT;

-- public: rdata of the DNSKEY. sealed: the private key (PKCS #8); NULL for keys of other signers.
-- published: it stands in the DNSKEY RRset. signs: new signatures are made with it. in_cds: CDS and CDNSKEY name it.
-- state: what the rollover calls it. state_at, until: microseconds since 1970.
CREATE TABLE dnssec_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('ksk', 'zsk', 'csk')),
  algorithm INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  public BLOB NOT NULL,
  sealed BLOB,
  published INTEGER NOT NULL CHECK (published IN (0, 1)),
  signs INTEGER NOT NULL CHECK (signs IN (0, 1)),
  in_cds INTEGER NOT NULL CHECK (in_cds IN (0, 1)),
  state TEXT NOT NULL,
  state_at INTEGER NOT NULL,
  until INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX dnssec_keys_of_zone ON dnssec_keys (zone, seq);

-- A row for each owner of a zone with a row in dnssec_zones. octets: serving/stored-signatures.ts.
-- first_expiry: when its first signature ends, seconds since 1970; NULL without signatures.
CREATE TABLE signatures (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (zone, owner_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX signatures_by_expiry ON signatures (zone, first_expiry);

-- The NSEC3 chain, by hashed name (20 octets). owner_key: the hashed name; octets as in signatures.
CREATE TABLE nsec3 (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  hash BLOB NOT NULL CHECK (length(hash) = 20),
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (zone, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX nsec3_by_expiry ON nsec3 (zone, first_expiry);
CREATE INDEX nsec3_by_owner ON nsec3 (zone, owner_key);
`,
};
