/** Certificates with a lifetime that was asked for. */
import type { Migration } from './migration.js';

export const validity: Migration = {
  version: 28,
  name: 'validity',
  sql: `
ALTER TABLE certificate_requests ADD COLUMN validity_days INTEGER NOT NULL DEFAULT 90 CHECK (validity_days > 0);
-- When the certificate is to end at the latest; NULL = after the authority's usual lifetime.
ALTER TABLE authority_orders ADD COLUMN not_after INTEGER;
`,
};
