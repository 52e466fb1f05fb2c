/** The zones of an account in the order of their names, so that a page of them is found without sorting all. */
import type { Steps } from './migration.js';

export default {
  canWait: true,
  sql: `
CREATE INDEX zones_of_account ON zones (account, name, id, type, status);
`,
} satisfies Steps;
