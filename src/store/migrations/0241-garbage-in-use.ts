/**
 * Octets of bodies that no object uses any more count as those that their account has, until the bodies are removed: otherwise an account
 * that writes and deletes again and again holds more than its quota allows.
 */
import type { Steps } from './migration.js';

const ACCOUNT = (bucket: string): string => `(SELECT account FROM buckets WHERE seq = ${bucket})`;
const ADDED = `ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;`;
const TAKEN = `UPDATE account_usage SET used = used - OLD.octets WHERE account = OLD.account AND kind = 'octets';`;

export default {
  sql: `
-- The account for which the octets of the body count. NULL: they do not, because it is removed at once or the account has gone.
ALTER TABLE blob_garbage ADD COLUMN account INTEGER REFERENCES accounts (seq) ON DELETE SET NULL;
ALTER TABLE blob_garbage ADD COLUMN octets INTEGER NOT NULL DEFAULT 0;
CREATE INDEX blob_garbage_of_account ON blob_garbage (account) WHERE account IS NOT NULL;

CREATE TRIGGER garbage_counted AFTER INSERT ON blob_garbage WHEN NEW.account IS NOT NULL BEGIN
  INSERT INTO account_usage (account, kind, used) VALUES (NEW.account, 'octets', NEW.octets) ${ADDED}
END;
CREATE TRIGGER garbage_removed_at_once AFTER UPDATE OF account ON blob_garbage
  WHEN OLD.account IS NOT NULL AND NEW.account IS NULL BEGIN ${TAKEN}
END;
CREATE TRIGGER garbage_uncounted AFTER DELETE ON blob_garbage WHEN OLD.account IS NOT NULL BEGIN ${TAKEN}
END;

DROP TRIGGER object_removed;
CREATE TRIGGER object_removed AFTER DELETE ON objects BEGIN
  UPDATE bucket_usage SET
    objects = objects - 1,
    payload_size = payload_size - old.size,
    metadata_size = metadata_size - old.metadata_size
  WHERE bucket = old.bucket AND storage_class = old.storage_class;
  INSERT OR IGNORE INTO blob_garbage (blob, account, octets)
  SELECT old.blob, ${ACCOUNT('old.bucket')}, old.size WHERE old.blob IS NOT NULL;
END;

-- The parts of an object that has gone are garbage later; until then, they count with their upload.
CREATE TRIGGER gone_upload_counted AFTER UPDATE OF is_gone ON uploads WHEN NEW.is_gone = 1 AND OLD.is_gone = 0 BEGIN
  INSERT INTO account_usage (account, kind, used)
  SELECT account, 'octets', NEW.size FROM buckets WHERE seq = NEW.bucket ${ADDED}
END;
CREATE TRIGGER gone_upload_recounted AFTER UPDATE OF size ON uploads WHEN NEW.is_gone = 1 BEGIN
  UPDATE account_usage SET used = used + NEW.size - OLD.size WHERE account = ${ACCOUNT('NEW.bucket')} AND kind = 'octets';
END;
CREATE TRIGGER gone_upload_uncounted AFTER DELETE ON uploads WHEN OLD.is_gone = 1 BEGIN
  UPDATE account_usage SET used = used - OLD.size WHERE account = ${ACCOUNT('OLD.bucket')} AND kind = 'octets';
END;
-- They go with the bucket, and then their account is no longer known.
DROP TRIGGER bucket_uploads_uncounted;
CREATE TRIGGER bucket_uploads_uncounted BEFORE DELETE ON buckets BEGIN
  UPDATE account_usage SET used = used - (SELECT coalesce(sum(size + iif(is_gone, 0, metadata_size)), 0) FROM uploads
    WHERE bucket = OLD.seq AND (completed_at IS NULL OR is_gone = 1)) WHERE account = OLD.account AND kind = 'octets';
END;

DROP TRIGGER part_removed;
CREATE TRIGGER part_removed AFTER DELETE ON parts BEGIN
  INSERT OR IGNORE INTO blob_garbage (blob, is_part, account, octets)
  VALUES (old.blob, 1, ${ACCOUNT('(SELECT bucket FROM uploads WHERE seq = old.upload)')}, old.size);
  UPDATE uploads SET size = size - old.size WHERE seq = old.upload;
END;

INSERT INTO account_usage (account, kind, used)
SELECT account, 'octets', sum(size) FROM uploads JOIN buckets ON buckets.seq = bucket WHERE is_gone = 1 GROUP BY account ${ADDED}
`,
} satisfies Steps;
