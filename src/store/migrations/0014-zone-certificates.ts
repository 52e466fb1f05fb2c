/** Certificates of zones: found by zone. */
import type { Migration } from './migration.js';

export const zoneCertificates: Migration = {
  version: 14,
  name: 'zone-certificates',
  sql: `
CREATE INDEX certificate_requests_by_zone ON certificate_requests (zone, seq);
`,
};
