/** Tokens that are not deleted are counted and listed without those that are, and without those of others. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE INDEX api_keys_of_user ON api_keys (user) WHERE kind = 'token' AND revoked_at IS NULL AND account_owned = 0;
CREATE INDEX api_keys_of_account ON api_keys (account) WHERE kind = 'token' AND revoked_at IS NULL AND account_owned = 1;
`,
  canWait: true,
} satisfies Steps;
