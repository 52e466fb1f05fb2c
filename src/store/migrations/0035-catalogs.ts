/** Catalog zones (RFC 9432) that tell other servers which zones of an account they serve. */
import type { Migration } from './migration.js';

export const catalogs: Migration = {
  version: 35,
  name: 'catalogs',
  sql: `
-- zone: the catalog zone itself. members: which zones of the account are in it, all of them or those that go to its peers.
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
-- moved_to: the catalog to which the zone goes over, since moved_at (microseconds since 1970).
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
`,
};
