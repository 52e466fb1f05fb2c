/** Targets of flattened names are resolved in turns by account, and within an account by zone. */
import type { Steps } from './migration.js';

const OF_ONE = (column: string): string =>
  `coalesce((SELECT CASE WHEN min(${column}) = max(${column}) THEN min(${column}) ELSE 0 END
    FROM flatten_owners JOIN zones ON zones.seq = flatten_owners.zone WHERE target = flatten_targets.name), 0)`;

export default {
  sql: `
-- Store numbers of the account and the zone that need the target; 0: several do.
ALTER TABLE flatten_targets ADD COLUMN account INTEGER NOT NULL DEFAULT 0;
ALTER TABLE flatten_targets ADD COLUMN zone INTEGER NOT NULL DEFAULT 0;
UPDATE flatten_targets SET account = ${OF_ONE('zones.account')}, zone = ${OF_ONE('zones.seq')};
CREATE INDEX flatten_targets_account ON flatten_targets (account, refresh_at);
CREATE INDEX flatten_targets_zone ON flatten_targets (account, zone, refresh_at);
`,
} satisfies Steps;
