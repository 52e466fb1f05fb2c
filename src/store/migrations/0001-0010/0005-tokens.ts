/** What tokens may do (v4: §12), from where, from when on, and to whom they belong. */
import type { Migration } from '../migration.js';

export const tokens: Migration = {
  version: 5,
  name: 'tokens',
  sql: `
-- policies: JSON list; NULL = everything its user may do, within account, zones and read_only.
ALTER TABLE api_keys ADD COLUMN policies TEXT CHECK (policies IS NULL OR json_valid(policies));
-- networks: {"in": [...], "not_in": [...]} of CIDR texts; NULL = from anywhere.
ALTER TABLE api_keys ADD COLUMN networks TEXT CHECK (networks IS NULL OR json_valid(networks));
ALTER TABLE api_keys ADD COLUMN not_before INTEGER;
ALTER TABLE api_keys ADD COLUMN modified_at INTEGER;
ALTER TABLE api_keys ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1));
-- account_owned 1: belongs to its account and outlives the membership of the user who made it.
ALTER TABLE api_keys ADD COLUMN account_owned INTEGER NOT NULL DEFAULT 0 CHECK (account_owned IN (0, 1));
CREATE INDEX api_keys_account ON api_keys (account) WHERE account_owned = 1;
`,
};
