/** Parts of an object that has gone are removed later than the object. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- 1: the object that it became has gone. Then its parts are removed, some in each write: there may be 10,000.
ALTER TABLE uploads ADD COLUMN is_gone INTEGER NOT NULL DEFAULT 0;
CREATE INDEX uploads_gone ON uploads (seq) WHERE is_gone = 1;

DROP TRIGGER composed_object_removed;
CREATE TRIGGER composed_object_removed AFTER DELETE ON objects WHEN old.upload IS NOT NULL BEGIN
  UPDATE uploads SET is_gone = 1 WHERE seq = old.upload;
END;
`,
} satisfies Steps;
