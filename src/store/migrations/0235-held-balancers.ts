/** A load balancer to which a change of a pool cannot come holds back no other one. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Load balancers to which changes of pools could not come: they are tried again. account: theirs. first_earlier: the oldest row of
-- earlier_pools that holds for them; they go on to see it and later ones, also behind after_balancer. Milliseconds since 1970.
CREATE TABLE held_balancers (
  load_balancer INTEGER PRIMARY KEY REFERENCES load_balancers (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL,
  first_earlier INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  reason TEXT NOT NULL,
  tried_at INTEGER NOT NULL,
  again_at INTEGER NOT NULL
) STRICT;
CREATE INDEX held_balancers_account ON held_balancers (account, again_at);
`,
} satisfies Steps;
