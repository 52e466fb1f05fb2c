/** What edge processes must hear of besides the change log. */
export const EDGE = `
-- What was purged from the caches of the edge, which edge processes read in order. items: JSON list of URLs, tags, host names or prefixes;
-- empty for everything. zone: store number; the zone may be gone.
CREATE TABLE purges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('purge_everything', 'files', 'tags', 'hosts', 'prefixes')),
  items TEXT NOT NULL CHECK (json_valid(items))
) STRICT;

-- What edge processes forget when they read it, besides the change log. subject: a host name, a zone's store number, or kind:id of a
-- certificate's owner. Only the triggers below write here, so that no use case can forget to.
CREATE TABLE edge_changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('hostname', 'zone', 'certificate')),
  subject TEXT NOT NULL
) STRICT;
CREATE INDEX edge_changes_by_subject ON edge_changes (kind, subject);
CREATE TRIGGER edge_changes_pruned AFTER INSERT ON edge_changes WHEN NEW.seq % 1000 = 0
BEGIN DELETE FROM edge_changes WHERE seq <= NEW.seq - 50000; END;

-- Custom hostnames and fallback origins.
CREATE TRIGGER edge_hostname_added AFTER INSERT ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
CREATE TRIGGER edge_hostname_gone AFTER DELETE ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', OLD.hostname); END;
CREATE TRIGGER edge_fallback_added AFTER INSERT ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_changed AFTER UPDATE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_gone AFTER DELETE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
CREATE TRIGGER edge_hostname_changed AFTER UPDATE OF state, ssl, metadata, origin, origin_sni ON custom_hostnames
WHEN OLD.state IS NOT NEW.state OR OLD.ssl IS NOT NEW.ssl OR OLD.metadata IS NOT NEW.metadata
  OR OLD.origin IS NOT NEW.origin OR OLD.origin_sni IS NOT NEW.origin_sni
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;

-- Settings of zones, and buckets that are attached to names of them.
CREATE TRIGGER edge_setting_added AFTER INSERT ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_changed AFTER UPDATE ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_gone AFTER DELETE ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;
CREATE TRIGGER edge_bucket_domain_added AFTER INSERT ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_changed AFTER UPDATE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_bucket_domain_gone AFTER DELETE ON bucket_domains
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;

CREATE TRIGGER edge_certificate_added AFTER INSERT ON certificates
BEGIN
  INSERT INTO edge_changes (kind, subject)
  SELECT 'certificate', owner_kind || ':' || owner FROM certificate_requests WHERE seq = NEW.request ORDER BY seq;
END;
CREATE TRIGGER edge_certificate_gone AFTER DELETE ON certificates
BEGIN
  INSERT INTO edge_changes (kind, subject)
  SELECT 'certificate', owner_kind || ':' || owner FROM certificate_requests WHERE seq = OLD.request ORDER BY seq;
END;
CREATE TRIGGER edge_certificate_dropped AFTER UPDATE OF dropped_at ON certificate_requests
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('certificate', NEW.owner_kind || ':' || NEW.owner); END;

-- Where proxied records lead does not show in DNS. A zone whose records are imported stands there once: the row moves to the end.
CREATE TRIGGER edge_origin_added AFTER INSERT ON record_rows WHEN NEW.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_changed AFTER UPDATE ON record_rows WHEN NEW.proxied = 1 OR OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = NEW.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = NEW.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_origin_gone AFTER DELETE ON record_rows WHEN OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone'
    AND subject = (SELECT CAST(seq AS TEXT) FROM zones WHERE record_set = OLD.record_set);
  INSERT INTO edge_changes (kind, subject) SELECT 'zone', seq FROM zones WHERE record_set = OLD.record_set ORDER BY seq;
END;
CREATE TRIGGER edge_records_replaced AFTER UPDATE OF record_set ON zones
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(NEW.seq AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.seq);
END;
`;
