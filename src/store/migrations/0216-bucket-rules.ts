/** Rules of buckets: CORS, lifecycle and locks; and the storage class of an object, which a lifecycle rule changes. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- rules: JSON list as the API shows it. revision: another one with every change, also with one that is undone.
-- swept_at: when the sweep last looked at the bucket, microseconds since 1970; NULL: not since the rules were set.
CREATE TABLE bucket_rules (
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('cors', 'lifecycle', 'lock')),
  rules TEXT NOT NULL CHECK (json_valid(rules)),
  revision TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  swept_at INTEGER,
  PRIMARY KEY (bucket, kind)
) STRICT, WITHOUT ROWID;

-- A browser that asks what it may send names a bucket without its account.
CREATE INDEX buckets_by_name ON buckets (name, jurisdiction);

-- The edge keeps the rules with the names at which it shows a bucket.
CREATE TRIGGER edge_cors_added AFTER INSERT ON bucket_rules WHEN NEW.kind = 'cors' BEGIN
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', zone FROM bucket_domains WHERE bucket = NEW.bucket ORDER BY zone;
END;
CREATE TRIGGER edge_cors_changed AFTER UPDATE ON bucket_rules WHEN NEW.kind = 'cors' BEGIN
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', zone FROM bucket_domains WHERE bucket = NEW.bucket ORDER BY zone;
END;
CREATE TRIGGER edge_cors_gone AFTER DELETE ON bucket_rules WHEN OLD.kind = 'cors' BEGIN
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', zone FROM bucket_domains WHERE bucket = OLD.bucket ORDER BY zone;
END;

CREATE TRIGGER object_reclassified AFTER UPDATE OF storage_class ON objects WHEN OLD.storage_class <> NEW.storage_class BEGIN
  UPDATE bucket_usage SET
    objects = objects - 1,
    payload_size = payload_size - OLD.size,
    metadata_size = metadata_size - OLD.metadata_size
  WHERE bucket = OLD.bucket AND storage_class = OLD.storage_class;
  INSERT INTO bucket_usage (bucket, storage_class, objects, payload_size, metadata_size)
  VALUES (NEW.bucket, NEW.storage_class, 1, NEW.size, NEW.metadata_size)
  ON CONFLICT (bucket, storage_class) DO UPDATE SET
    objects = objects + 1,
    payload_size = payload_size + excluded.payload_size,
    metadata_size = metadata_size + excluded.metadata_size;
END;
`,
} satisfies Steps;
