/** HTTPS records exist only for names that certificates of the zone cover. */
import type { Migration } from './migration.js';

export const certifiedNames: Migration = {
  version: 21,
  name: 'certified-names',
  sql: `
-- A JSON list, which the job fills for zones that have certificates already.
ALTER TABLE zones ADD COLUMN certified_names TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(certified_names));
INSERT INTO jobs (kind, subject, run_at, set_at, priority)
  SELECT DISTINCT 'certified_names', lower(hex(zones.id)), 0, 0, 0 FROM zones
  JOIN certificate_requests r ON r.zone = zones.seq WHERE r.owner_kind = 'zone' ORDER BY zones.seq;

-- Until now every proxied name had an HTTPS record. As after any start with other settings, serials move.
UPDATE meta SET value = '' WHERE name = 'serving_settings';
`,
};
