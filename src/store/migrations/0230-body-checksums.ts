/** Checksums of bodies, which are computed much faster than MD5. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- CRC-32 of the body; NULL: not known, or the body is that of parts. Damage is looked for by it where there is one.
ALTER TABLE objects ADD COLUMN crc32 INTEGER;
ALTER TABLE parts ADD COLUMN crc32 INTEGER;
`,
} satisfies Steps;
