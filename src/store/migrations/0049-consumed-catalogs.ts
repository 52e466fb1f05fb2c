/** Catalog zones (RFC 9432) of other servers, whose members are secondary zones here. */
import type { Migration } from './migration.js';

export const consumedCatalogs: Migration = {
  version: 49,
  name: 'consumed-catalogs',
  sql: `
-- zone: the catalog zone itself, a secondary one. serial: the version that was followed last. fault: why the newest one is not. held:
-- zones that would go but wait for a person; confirmed: the serial for which a person let them go. Times in microseconds since 1970.
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

-- name: of the member zone. member_id: the label under which it stands in the catalog. zone: the zone here; NULL when there is none,
-- for the reason in problem. moves_to: name of the catalog to which it goes over.
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
`,
};
