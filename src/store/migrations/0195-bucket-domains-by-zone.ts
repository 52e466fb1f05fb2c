/** A name is attached to a bucket in a zone: zones of several accounts may have the name until one of them has proven it. */
import type { Migration } from './migration.js';

export const bucketDomainsByZone: Migration = {
  version: 195,
  name: 'bucket-domains-by-zone',
  sql: `
CREATE TABLE new_bucket_domains (
  domain TEXT NOT NULL,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_tls TEXT CHECK (min_tls IN ('1.0', '1.1', '1.2', '1.3')),
  ciphers TEXT NOT NULL CHECK (json_valid(ciphers)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (domain, zone)
) STRICT, WITHOUT ROWID;
INSERT INTO new_bucket_domains (domain, zone, bucket, enabled, min_tls, ciphers, created_at)
SELECT domain, zone, bucket, enabled, min_tls, ciphers, created_at FROM bucket_domains;
DROP TABLE bucket_domains;
ALTER TABLE new_bucket_domains RENAME TO bucket_domains;
CREATE INDEX bucket_domains_by_bucket ON bucket_domains (bucket, domain);
CREATE INDEX bucket_domains_by_zone ON bucket_domains (zone, domain);

CREATE TRIGGER edge_bucket_domain_added AFTER INSERT ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_changed AFTER UPDATE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_gone AFTER DELETE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
`,
};
