/** The index of load balancers whose transfers follow health. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE INDEX load_balancers_transfer_health ON load_balancers (seq) WHERE instr(settings, '"transfer_health":true') > 0;
`,
  canWait: true,
} satisfies Steps;
