/**
 * What edge processes must hear of a new record is written where records are added (records.ts): a trigger is entered for each row of an
 * import, and SQLite keeps all rows of a statement twice for it.
 */
import type { Steps } from './migration.js';

export default {
  canWait: true,
  sql: `
DROP TRIGGER edge_origin_added;
`,
} satisfies Steps;
