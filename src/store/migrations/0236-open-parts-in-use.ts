/** Octets of uploads that are not complete count as those that their account has, from their beginning until they are objects or gone. */
import type { Steps } from './migration.js';

const USED = (row: 'NEW' | 'OLD'): string =>
  `account = (SELECT account FROM buckets WHERE seq = ${row}.bucket) AND kind = 'octets'`;
const ADDED = `ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;`;

export default {
  canWait: true,
  sql: `
CREATE TRIGGER open_upload_counted AFTER INSERT ON uploads WHEN NEW.completed_at IS NULL BEGIN
  INSERT INTO account_usage (account, kind, used)
  SELECT account, 'octets', NEW.size + NEW.metadata_size FROM buckets WHERE seq = NEW.bucket ${ADDED}
END;
CREATE TRIGGER open_upload_recounted AFTER UPDATE OF size ON uploads WHEN NEW.completed_at IS NULL BEGIN
  UPDATE account_usage SET used = used + NEW.size - OLD.size WHERE ${USED('NEW')};
END;
-- Its object is counted from now on.
CREATE TRIGGER open_upload_completed AFTER UPDATE OF completed_at ON uploads
  WHEN OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL BEGIN
  UPDATE account_usage SET used = used - OLD.size - OLD.metadata_size WHERE ${USED('OLD')};
END;
CREATE TRIGGER open_upload_uncounted AFTER DELETE ON uploads WHEN OLD.completed_at IS NULL BEGIN
  UPDATE account_usage SET used = used - OLD.size - OLD.metadata_size WHERE ${USED('OLD')};
END;
-- They go with the bucket, and then their account is no longer known.
CREATE TRIGGER bucket_uploads_uncounted BEFORE DELETE ON buckets BEGIN
  UPDATE account_usage SET used = used - (SELECT coalesce(sum(size + metadata_size), 0) FROM uploads
    WHERE bucket = OLD.seq AND completed_at IS NULL) WHERE account = OLD.account AND kind = 'octets';
END;

INSERT INTO account_usage (account, kind, used)
SELECT account, 'octets', sum(size + metadata_size) FROM uploads JOIN buckets ON buckets.seq = bucket
WHERE completed_at IS NULL GROUP BY account ${ADDED}
`,
} satisfies Steps;
