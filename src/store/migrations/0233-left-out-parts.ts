/** Parts that an upload has when it is completed without them are removed later. */
import type { Steps } from './migration.js';

export default {
  canWait: true,
  sql: `
-- first is -1 for a part that is not one of the object.
CREATE INDEX parts_left_out ON parts (upload) WHERE first < 0;
`,
} satisfies Steps;
