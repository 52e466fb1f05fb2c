/** A change of a pool comes to its load balancers one after the other. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- A pool as it was before a change that has not come to all its load balancers yet: those with numbers above after_balancer and up
-- to last_balancer still see it so; of several rows, the oldest that has their number. account: that of the pool. settings: NULL:
-- those of the pool itself. monitored: 1: health played a part.
CREATE TABLE earlier_pools (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  pool INTEGER NOT NULL REFERENCES pools (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL,
  settings TEXT,
  monitored INTEGER NOT NULL CHECK (monitored IN (0, 1)),
  after_balancer INTEGER NOT NULL,
  last_balancer INTEGER NOT NULL
) STRICT;
CREATE INDEX earlier_pools_pool ON earlier_pools (pool);
CREATE INDEX earlier_pools_account ON earlier_pools (account, after_balancer);
`,
} satisfies Steps;
