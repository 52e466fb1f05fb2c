/** Parent zones that take the DS records of their children from the children's CDS records. */
import type { Migration } from './migration.js';

export const parentalAgents: Migration = {
  version: 97,
  name: 'parental agents',
  sql: `
-- parental_agent: the zone has the DS records that CDS records of zones below it ask for (RFC 7344).
ALTER TABLE dnssec_zones ADD COLUMN parental_agent INTEGER NOT NULL DEFAULT 0 CHECK (parental_agent IN (0, 1));
`,
};
