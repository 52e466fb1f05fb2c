/** Internal zones are counted without looking at the others. */
import type { Steps } from './migration.js';

export default {
  canWait: true,
  sql: `
CREATE INDEX zones_internal ON zones (seq) WHERE type = 'internal';
`,
} satisfies Steps;
