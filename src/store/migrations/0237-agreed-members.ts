/** Whether members have agreed to be members: an account may add users of others without asking them. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- 0: an account that has not proved that the user is its own added the user, who has not accepted it since.
ALTER TABLE memberships ADD COLUMN agreed INTEGER NOT NULL DEFAULT 1 CHECK (agreed IN (0, 1));
`,
} satisfies Steps;
