/** Signed zones: their state, their keys, their parents, and the signatures of their owners. */
export const DNSSEC = `
-- A row for each zone that is signed, is being signed, or is being unsigned.
-- state: that of the delegation: pending, active, pending-disabled, disabled.
-- phase: 'data' and 'chain' while a zone that is not served signed yet is signed; 'signed'; 'unsigning'.
-- cursor: the last owner that the phase has done. walk: the last owner for which a re-signing of the whole zone has come.
-- denial: what is served. next_denial: the kind that is being prepared.
-- delete_form: whether CDS and CDNSKEY ask the parent to remove its DS (RFC 8078 §4).
-- newest_inception: the newest beginning of a signature, seconds since 1970. largest_ttl: of signed data, seconds.
-- walked_at: when the last such re-signing ended.
CREATE TABLE dnssec_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'pending-disabled', 'disabled')),
  phase TEXT NOT NULL CHECK (phase IN ('data', 'chain', 'signed', 'unsigning')),
  cursor BLOB,
  walk BLOB,
  walked_at INTEGER,
  denial TEXT NOT NULL CHECK (denial IN ('nsec', 'nsec3', 'compact')),
  next_denial TEXT CHECK (next_denial IN ('nsec', 'nsec3', 'compact')),
  iterations INTEGER NOT NULL DEFAULT 0,
  salt BLOB NOT NULL DEFAULT X'',
  opt_out INTEGER NOT NULL DEFAULT 0 CHECK (opt_out IN (0, 1)),
  delete_form INTEGER NOT NULL DEFAULT 0 CHECK (delete_form IN (0, 1)),
  presigned INTEGER NOT NULL DEFAULT 0 CHECK (presigned IN (0, 1)),
  newest_inception INTEGER NOT NULL DEFAULT 0,
  largest_ttl INTEGER NOT NULL DEFAULT 0,
  ds_seen_at INTEGER,
  modified_at INTEGER NOT NULL,
  -- DNSKEY records of other signers are part of the zone (RFC 8901 §2.1.2).
  multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1)),
  -- The rollover that is under way does not wait for what resolvers remember.
  emergency INTEGER NOT NULL DEFAULT 0 CHECK (emergency IN (0, 1)),
  -- The zone tells of the keys of zones whose name servers have names in it (RFC 9615).
  signals INTEGER NOT NULL DEFAULT 0 CHECK (signals IN (0, 1)),
  -- The set of its signatures and NSEC3 records: a number of record_sets, with no records.
  signature_set INTEGER,
  -- The zone has the DS records that CDS records of zones below it ask for (RFC 7344).
  parental_agent INTEGER NOT NULL DEFAULT 0 CHECK (parental_agent IN (0, 1))
) STRICT;

-- public: rdata of the DNSKEY. sealed: the private key (PKCS #8); NULL for keys of other signers.
-- published: it stands in the DNSKEY RRset. signs: new signatures are made with it. in_cds: CDS and CDNSKEY name it.
-- state: what the rollover calls it.
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
  created_at INTEGER NOT NULL,
  -- The private key again, sealed for DNS processes, of a key that signs the records of a zone with compact denial (RFC 9824).
  online BLOB
) STRICT;
CREATE INDEX dnssec_keys_of_zone ON dnssec_keys (zone, seq);

-- A row for each signed zone whose parent was asked, or for which a user said what it has.
-- servers: JSON, what each server of the parent answered. agreed: JSON list of DS contents that all servers have; NULL while they differ
-- or one does not answer; since: when they began to have it. ttl: of the DS records they had last, seconds.
-- remove_at: when keys and signatures are removed because a user asked for it.
CREATE TABLE dnssec_parents (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  servers TEXT NOT NULL DEFAULT '[]',
  checked_at INTEGER,
  agreed TEXT,
  since INTEGER,
  ttl INTEGER NOT NULL DEFAULT 86400,
  remove_at INTEGER
) STRICT;

-- CDS and CDNSKEY records that a zone serves about another one. child: identifier of that zone, which may be gone.
CREATE TABLE dnssec_signals (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  child BLOB NOT NULL,
  PRIMARY KEY (zone, owner_key, type, rdata)
) STRICT, WITHOUT ROWID;
CREATE INDEX dnssec_signals_by_child ON dnssec_signals (child);

-- A row for each owner of a zone with a row in dnssec_zones. Without a reference to the zone, because its removal would remove all
-- signatures at once. octets: serving/stored-signatures.ts. first_expiry: when its first signature ends, seconds since 1970.
CREATE TABLE signatures (
  signature_set INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, owner_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX signatures_by_expiry ON signatures (signature_set, first_expiry);

-- The NSEC3 chain, by hashed name (20 octets). owner_key: the hashed name; octets as in signatures.
CREATE TABLE nsec3 (
  signature_set INTEGER NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 20),
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX nsec3_by_expiry ON nsec3 (signature_set, first_expiry);
`;
