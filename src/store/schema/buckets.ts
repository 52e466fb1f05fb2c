/**
 * Buckets, what binds them to the bucket application, and the objects in them. Small bodies are rows of their own, apart from
 * the descriptions, which lists read; large ones are files named by `blob`. Keys compare by the octets of their UTF-8.
 */
export const BUCKETS = `
CREATE TABLE buckets (
  seq INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (seq),
  jurisdiction TEXT NOT NULL CHECK (jurisdiction IN ('default', 'eu', 'us', 'fedramp', 'fedramp-high')),
  name TEXT NOT NULL,
  location TEXT,
  storage_class TEXT NOT NULL CHECK (storage_class IN ('Standard', 'InfrequentAccess')),
  created_at INTEGER NOT NULL,
  UNIQUE (account, jurisdiction, name)
) STRICT;

CREATE TABLE bucket_bindings (
  name TEXT PRIMARY KEY,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  bound_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bucket_bindings_by_bucket ON bucket_bindings (bucket);

CREATE TABLE objects (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  bucket INTEGER NOT NULL REFERENCES buckets (seq),
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  size INTEGER NOT NULL,
  md5 BLOB NOT NULL CHECK (length(md5) = 16),
  storage_class TEXT NOT NULL CHECK (storage_class IN ('Standard', 'InfrequentAccess')),
  http_metadata TEXT NOT NULL CHECK (json_valid(http_metadata)),
  custom_metadata TEXT NOT NULL CHECK (json_valid(custom_metadata)),
  metadata_size INTEGER NOT NULL,
  uploaded_at INTEGER NOT NULL,
  blob TEXT UNIQUE,
  UNIQUE (bucket, key)
) STRICT;

CREATE TABLE object_contents (
  object INTEGER PRIMARY KEY REFERENCES objects (seq) ON DELETE CASCADE,
  octets BLOB NOT NULL
) STRICT;

-- Files nobody needs any more, to be removed.
CREATE TABLE blob_garbage (
  blob TEXT PRIMARY KEY,
  -- When a sweep first found it unused, milliseconds since 1970; another node may be reading it for a while.
  noted_at INTEGER
) STRICT, WITHOUT ROWID;

-- Sums over objects, kept with every change of them: a bucket may hold millions.
CREATE TABLE bucket_usage (
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  storage_class TEXT NOT NULL,
  objects INTEGER NOT NULL,
  payload_size INTEGER NOT NULL,
  metadata_size INTEGER NOT NULL,
  PRIMARY KEY (bucket, storage_class)
) STRICT, WITHOUT ROWID;

-- A name is attached to a bucket in a zone: zones of several accounts may have the name until one of them has proven it.
-- domain: lower-case ASCII without the final dot, a name of the zone. min_tls: NULL where the zone's setting counts.
-- ciphers: JSON list, empty where the usual ones count.
CREATE TABLE bucket_domains (
  domain TEXT NOT NULL,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_tls TEXT CHECK (min_tls IN ('1.0', '1.1', '1.2', '1.3')),
  ciphers TEXT NOT NULL CHECK (json_valid(ciphers)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (domain, zone)
) STRICT, WITHOUT ROWID;
CREATE INDEX bucket_domains_by_bucket ON bucket_domains (bucket, domain);
CREATE INDEX bucket_domains_by_zone ON bucket_domains (zone, domain);

CREATE TRIGGER object_added AFTER INSERT ON objects BEGIN
  INSERT INTO bucket_usage (bucket, storage_class, objects, payload_size, metadata_size)
  VALUES (new.bucket, new.storage_class, 1, new.size, new.metadata_size)
  ON CONFLICT (bucket, storage_class) DO UPDATE SET
    objects = objects + 1,
    payload_size = payload_size + excluded.payload_size,
    metadata_size = metadata_size + excluded.metadata_size;
END;
CREATE TRIGGER object_removed AFTER DELETE ON objects BEGIN
  UPDATE bucket_usage SET
    objects = objects - 1,
    payload_size = payload_size - old.size,
    metadata_size = metadata_size - old.metadata_size
  WHERE bucket = old.bucket AND storage_class = old.storage_class;
  INSERT OR IGNORE INTO blob_garbage (blob) SELECT old.blob WHERE old.blob IS NOT NULL;
END;
`;
