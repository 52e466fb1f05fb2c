/** The index of load balancers whose transfers follow health. */
import type { Migration } from './migration.js';

export const transferHealth: Migration = {
  version: 226,
  name: 'transfer-health',
  sql: `
CREATE INDEX load_balancers_transfer_health ON load_balancers (seq) WHERE instr(settings, '"transfer_health":true') > 0;
`,
  canWait: true,
};
