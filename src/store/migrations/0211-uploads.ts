/** Uploads in parts, the objects that they become, and checksums of S3 clients. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- An upload in parts. completed_at: NULL while it is open; then it has become the object that names it.
CREATE TABLE uploads (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  key TEXT NOT NULL,
  storage_class TEXT NOT NULL CHECK (storage_class IN ('Standard', 'InfrequentAccess')),
  http_metadata TEXT NOT NULL CHECK (json_valid(http_metadata)),
  custom_metadata TEXT NOT NULL CHECK (json_valid(custom_metadata)),
  metadata_size INTEGER NOT NULL,
  -- Octets of all its parts.
  size INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  completed_at INTEGER
) STRICT;
CREATE INDEX uploads_by_key ON uploads (bucket, key, seq);
CREATE INDEX uploads_open ON uploads (started_at) WHERE completed_at IS NULL;

-- Their bodies, each a file or an object on S3. first: where it begins in the object, once that is complete.
CREATE TABLE parts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  upload INTEGER NOT NULL REFERENCES uploads (seq) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  first INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL,
  md5 BLOB NOT NULL CHECK (length(md5) = 16),
  blob TEXT NOT NULL UNIQUE,
  -- Name and value in base64 of what the client sent, as 'crc32 AAAAAA=='.
  checksum TEXT,
  uploaded_at INTEGER NOT NULL,
  UNIQUE (upload, number)
) STRICT;

-- upload: whose parts are the body; md5 is then that of their MD5s. parts: how many.
ALTER TABLE objects ADD COLUMN upload INTEGER;
ALTER TABLE objects ADD COLUMN parts INTEGER;
ALTER TABLE objects ADD COLUMN checksum TEXT;
CREATE UNIQUE INDEX objects_by_upload ON objects (upload) WHERE upload IS NOT NULL;

-- 1: the body of a part. Who reads its object opens it later than the others.
ALTER TABLE blob_garbage ADD COLUMN is_part INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER part_added AFTER INSERT ON parts BEGIN
  UPDATE uploads SET size = size + new.size WHERE seq = new.upload;
END;
CREATE TRIGGER part_removed AFTER DELETE ON parts BEGIN
  UPDATE uploads SET size = size - old.size WHERE seq = old.upload;
  INSERT OR IGNORE INTO blob_garbage (blob, is_part) VALUES (old.blob, 1);
END;
CREATE TRIGGER composed_object_removed AFTER DELETE ON objects WHEN old.upload IS NOT NULL BEGIN
  DELETE FROM parts WHERE upload = old.upload;
  DELETE FROM uploads WHERE seq = old.upload;
END;
`,
} satisfies Steps;
