/** Targets nobody is answered with, those of proxied names, are asked for less often than those of flattened ones. */
import type { Migration } from '../migration.js';

export const watchedTargets: Migration = {
  version: 7,
  name: 'watched-targets',
  sql: `
-- answered 1: the owner answers the target's addresses; 0: it is proxied, and only whether the target leads somewhere is of interest.
ALTER TABLE flatten_owners ADD COLUMN answered INTEGER NOT NULL DEFAULT 1 CHECK (answered IN (0, 1));
`,
};
