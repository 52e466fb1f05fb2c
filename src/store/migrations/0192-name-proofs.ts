/**
 * What proved that a name is its account's, and when; the name servers that a zone was given; names with their labels in reverse,
 * by which the names below a name are found.
 */
import type { Migration } from './migration.js';

/** SQL of a name with its labels in reverse, each followed by a dot, without a leading `*.`: `example.com` is `com.example.`. */
const reversed = (table: string, name: string): string => `
UPDATE ${table} SET reversed_name = (
  WITH RECURSIVE labels (rest, done) AS (
    SELECT CASE WHEN ${table}.${name} LIKE '*.%' THEN substr(${table}.${name}, 3) ELSE ${table}.${name} END, ''
    UNION ALL
    SELECT
      CASE instr(rest, '.') WHEN 0 THEN '' ELSE substr(rest, instr(rest, '.') + 1) END,
      CASE instr(rest, '.') WHEN 0 THEN rest ELSE substr(rest, 1, instr(rest, '.') - 1) END || '.' || done
    FROM labels WHERE rest <> ''
  )
  SELECT done FROM labels WHERE rest = ''
);
`;

export const nameProofs: Migration = {
  version: 192,
  name: 'name-proofs',
  sql: `
-- What proved that the name is the account's. 'trust': nothing did, but the installation trusts who comes first.
ALTER TABLE zones ADD COLUMN proven_by TEXT CHECK (proven_by IN ('operator', 'delegation', 'txt', 'trust'));
-- Microseconds since 1970; since when a proof that was found before is no longer found.
ALTER TABLE zones ADD COLUMN proven_at INTEGER;
ALTER TABLE zones ADD COLUMN proof_lost_at INTEGER;
-- JSON list: those of the installation to which the zone is to be delegated. Null: all of them.
ALTER TABLE zones ADD COLUMN name_servers TEXT;
ALTER TABLE zones ADD COLUMN reversed_name TEXT NOT NULL DEFAULT '';
-- Zones that are active stay so: the operator let them be.
UPDATE zones SET proven_by = 'operator', proven_at = coalesce(activated_at, created_at) WHERE proven = 1 OR status = 'active';
ALTER TABLE zones DROP COLUMN proven;
${reversed('zones', 'name')}
CREATE INDEX zones_by_reversed_name ON zones (reversed_name, account);

-- The zone here whose records proved it; null: it was proven outside.
ALTER TABLE custom_hostnames ADD COLUMN proof_zone INTEGER;
CREATE INDEX custom_hostnames_by_proof_zone ON custom_hostnames (proof_zone) WHERE proof_zone IS NOT NULL;
ALTER TABLE custom_hostnames ADD COLUMN reversed_name TEXT NOT NULL DEFAULT '';
${reversed('custom_hostnames', 'hostname')}
CREATE INDEX custom_hostnames_by_reversed_name ON custom_hostnames (reversed_name);
`,
};
