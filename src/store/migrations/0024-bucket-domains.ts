/** Domains of buckets: names of zones at which the edge shows a bucket to the public. */
import type { Migration } from './migration.js';

export const bucketDomains: Migration = {
  version: 24,
  name: 'bucket-domains',
  sql: `
-- domain: lower-case ASCII without the final dot, a name of the zone. min_tls: null where the zone's setting counts.
-- ciphers: JSON list, empty where the usual ones count. created_at: microseconds since 1970.
CREATE TABLE bucket_domains (
  domain TEXT PRIMARY KEY,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  bucket INTEGER NOT NULL REFERENCES buckets (seq) ON DELETE CASCADE,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_tls TEXT CHECK (min_tls IN ('1.0', '1.1', '1.2', '1.3')),
  ciphers TEXT NOT NULL CHECK (json_valid(ciphers)),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
