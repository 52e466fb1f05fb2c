/** Credentials of a user, those that are not revoked apart from the others, without reading those of everybody. */
import type { Steps } from './migration.js';

export default {
  sql: `
CREATE INDEX api_keys_by_user ON api_keys (user, revoked_at);
`,
  canWait: true,
} satisfies Steps;
