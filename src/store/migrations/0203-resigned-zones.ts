/** Signatures of a zone may all have to be made anew. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Signatures with an earlier inception are replaced, seconds since 1970.
ALTER TABLE dnssec_zones ADD COLUMN renew_before INTEGER NOT NULL DEFAULT 0;
`,
} satisfies Steps;
