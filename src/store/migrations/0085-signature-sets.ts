/**
 * The signatures of a zone are a set with a number of its own, like its records. So those of records that are to come can be
 * made in many short transactions and switched in by one, and a set that is no longer used is removed in parts.
 */
import type { Migration } from './migration.js';

export const signatureSets: Migration = {
  version: 85,
  name: 'signature-sets',
  sql: `
-- The set of the zone's signatures and NSEC3 records: a number of record_sets, with no records.
ALTER TABLE dnssec_zones ADD COLUMN signature_set INTEGER;
INSERT INTO record_sets (number, state, written_at)
  SELECT coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'record_sets'), 0) + row_number() OVER (ORDER BY zone),
    'used', modified_at FROM dnssec_zones ORDER BY zone;
UPDATE dnssec_zones SET signature_set = (SELECT max(number) FROM record_sets) - ranked.later
  FROM (SELECT zone AS ranked_zone, row_number() OVER (ORDER BY zone DESC) - 1 AS later FROM dnssec_zones) AS ranked
  WHERE ranked.ranked_zone = dnssec_zones.zone;

-- Without a reference to the zone, because its removal would remove all signatures at once.
DROP INDEX signatures_by_expiry;
ALTER TABLE signatures RENAME TO signatures_of_zones;
CREATE TABLE signatures (
  signature_set INTEGER NOT NULL,
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, owner_key)
) STRICT, WITHOUT ROWID;
INSERT INTO signatures (signature_set, owner_key, first_expiry, octets)
  SELECT z.signature_set, s.owner_key, s.first_expiry, s.octets FROM dnssec_zones z JOIN signatures_of_zones s ON s.zone = z.zone
  ORDER BY z.signature_set, s.owner_key;
DROP TABLE signatures_of_zones;
CREATE INDEX signatures_by_expiry ON signatures (signature_set, first_expiry);

DROP INDEX nsec3_by_expiry;
DROP INDEX nsec3_by_owner;
ALTER TABLE nsec3 RENAME TO nsec3_of_zones;
CREATE TABLE nsec3 (
  signature_set INTEGER NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 20),
  owner_key BLOB NOT NULL,
  first_expiry INTEGER,
  octets BLOB NOT NULL,
  PRIMARY KEY (signature_set, hash)
) STRICT, WITHOUT ROWID;
INSERT INTO nsec3 (signature_set, hash, owner_key, first_expiry, octets)
  SELECT z.signature_set, s.hash, s.owner_key, s.first_expiry, s.octets FROM dnssec_zones z JOIN nsec3_of_zones s ON s.zone = z.zone
  ORDER BY z.signature_set, s.hash;
DROP TABLE nsec3_of_zones;
CREATE INDEX nsec3_by_expiry ON nsec3 (signature_set, first_expiry);
`,
};
