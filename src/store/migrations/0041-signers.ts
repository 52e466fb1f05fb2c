/** Zones with several signers, and rollovers that wait for nobody's caches. */
import type { Migration } from './migration.js';

export const signers: Migration = {
  version: 41,
  name: 'signers',
  sql: `
-- multi_signer: DNSKEY records of other signers are part of the zone (RFC 8901 §2.1.2).
-- emergency: the rollover that is under way does not wait for what resolvers remember.
ALTER TABLE dnssec_zones ADD COLUMN multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1));
ALTER TABLE dnssec_zones ADD COLUMN emergency INTEGER NOT NULL DEFAULT 0 CHECK (emergency IN (0, 1));
`,
};
