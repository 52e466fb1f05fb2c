/** Compact denial (RFC 9824), for which DNS processes sign with keys of their own sealing. */
import type { Migration } from './migration.js';

const KINDS = "('nsec', 'nsec3', 'compact')";

export const compactDenial: Migration = {
  version: 88,
  name: 'compact-denial',
  sql: `
-- The same columns as before; only the kinds of denial are more.
CREATE TABLE new_dnssec_zones (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'pending-disabled', 'disabled')),
  phase TEXT NOT NULL CHECK (phase IN ('data', 'chain', 'signed', 'unsigning')),
  cursor BLOB,
  walk BLOB,
  walked_at INTEGER,
  denial TEXT NOT NULL CHECK (denial IN ${KINDS}),
  next_denial TEXT CHECK (next_denial IN ${KINDS}),
  iterations INTEGER NOT NULL DEFAULT 0,
  salt BLOB NOT NULL DEFAULT X'',
  opt_out INTEGER NOT NULL DEFAULT 0 CHECK (opt_out IN (0, 1)),
  delete_form INTEGER NOT NULL DEFAULT 0 CHECK (delete_form IN (0, 1)),
  presigned INTEGER NOT NULL DEFAULT 0 CHECK (presigned IN (0, 1)),
  newest_inception INTEGER NOT NULL DEFAULT 0,
  largest_ttl INTEGER NOT NULL DEFAULT 0,
  ds_seen_at INTEGER,
  modified_at INTEGER NOT NULL,
  multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1)),
  emergency INTEGER NOT NULL DEFAULT 0 CHECK (emergency IN (0, 1)),
  signals INTEGER NOT NULL DEFAULT 0 CHECK (signals IN (0, 1)),
  signature_set INTEGER
) STRICT;
INSERT INTO new_dnssec_zones (zone, state, phase, cursor, walk, walked_at, denial, next_denial, iterations, salt, opt_out,
    delete_form, presigned, newest_inception, largest_ttl, ds_seen_at, modified_at, multi_signer, emergency, signals, signature_set)
  SELECT zone, state, phase, cursor, walk, walked_at, denial, next_denial, iterations, salt, opt_out,
    delete_form, presigned, newest_inception, largest_ttl, ds_seen_at, modified_at, multi_signer, emergency, signals, signature_set
  FROM dnssec_zones ORDER BY zone;
DROP TABLE dnssec_zones;
ALTER TABLE new_dnssec_zones RENAME TO dnssec_zones;

-- online: the private key again, sealed for DNS processes, of a key that signs the records of a zone with compact denial.
ALTER TABLE dnssec_keys ADD COLUMN online BLOB;
`,
};
