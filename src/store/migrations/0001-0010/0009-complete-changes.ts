/**
 * A change says whether it lists everything that differs, and holds the SOA before and after it: applied to the zone as it was
 * served, a complete one gives the zone as it is served. Until now edits held the SOA, which changes without an edit have not.
 */
import type { Migration } from '../migration.js';

export const completeChanges: Migration = {
  version: 9,
  name: 'complete-changes',
  sql: `
ALTER TABLE changes ADD COLUMN complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1));
-- Rdata and TTL of the SOA before and after; NULL where it stayed, or where there was none.
ALTER TABLE changes ADD COLUMN soa_from BLOB;
ALTER TABLE changes ADD COLUMN soa_to BLOB;
ALTER TABLE changes ADD COLUMN soa_ttl_from INTEGER;
ALTER TABLE changes ADD COLUMN soa_ttl_to INTEGER;
UPDATE changes SET soa_from = e.soa_from, soa_to = e.soa_to, soa_ttl_from = e.soa_ttl_from, soa_ttl_to = e.soa_ttl_to,
    complete = changes.kind = 'rrs'
  FROM zone_edits e WHERE e.change = changes.seq AND e.zone = changes.zone;
ALTER TABLE zone_edits DROP COLUMN soa_from;
ALTER TABLE zone_edits DROP COLUMN soa_to;
ALTER TABLE zone_edits DROP COLUMN soa_ttl_from;
ALTER TABLE zone_edits DROP COLUMN soa_ttl_to;
`,
};
