/** Signatures of a zone may all have to be made anew. */
import type { Migration } from './migration.js';

export const resignedZones: Migration = {
  version: 203,
  name: 'resigned-zones',
  sql: `
-- Signatures with an earlier inception are replaced, seconds since 1970.
ALTER TABLE dnssec_zones ADD COLUMN renew_before INTEGER NOT NULL DEFAULT 0;
`,
};
