/** Certificates that the service keeps for zones with proxied records. */
import type { Migration } from './migration.js';

export const universalCertificates: Migration = {
  version: 16,
  name: 'universal-certificates',
  sql: `
ALTER TABLE zones ADD COLUMN universal_certificate INTEGER NOT NULL DEFAULT 1 CHECK (universal_certificate IN (0, 1));
ALTER TABLE zones ADD COLUMN universal_authority TEXT NOT NULL DEFAULT '';
DROP INDEX certificate_requests_by_zone;
CREATE INDEX certificate_requests_by_zone ON certificate_requests (zone, owner_kind, seq);
CREATE INDEX records_proxied ON records (zone) WHERE proxied = 1;

-- Zones that have such records already get theirs after the next start, spread over time.
INSERT INTO jobs (kind, subject, run_at, set_at, priority)
  SELECT 'zone_certificate', lower(hex(id)), 0, 0, 0 FROM zones
  WHERE EXISTS (SELECT 1 FROM records WHERE records.zone = zones.seq AND records.proxied = 1) ORDER BY seq;
`,
};
