/** The edge: settings of zones that only it obeys, and what it must hear of beside the change log. */
import type { Migration } from './migration.js';

export const edge: Migration = {
  version: 19,
  name: 'edge',
  sql: `
-- value: JSON. What is not here has its default. modified_at: microseconds since 1970.
CREATE TABLE zone_settings (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (zone, name)
) STRICT, WITHOUT ROWID;

-- What edge processes forget when they read it. subject: a host name, a zone's store number, or kind:id of a certificate's owner.
-- Only the triggers below write here, so that no use case can forget to.
CREATE TABLE edge_changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('hostname', 'zone', 'certificate')),
  subject TEXT NOT NULL
) STRICT;
CREATE TRIGGER edge_changes_pruned AFTER INSERT ON edge_changes WHEN NEW.seq % 1000 = 0
BEGIN DELETE FROM edge_changes WHERE seq <= NEW.seq - 50000; END;

CREATE TRIGGER edge_hostname_added AFTER INSERT ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
CREATE TRIGGER edge_hostname_changed AFTER UPDATE OF state, ssl, metadata, origin, origin_sni ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
CREATE TRIGGER edge_hostname_gone AFTER DELETE ON custom_hostnames
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', OLD.hostname); END;

CREATE TRIGGER edge_fallback_added AFTER INSERT ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_changed AFTER UPDATE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_fallback_gone AFTER DELETE ON fallback_origins
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone); END;

CREATE TRIGGER edge_setting_added AFTER INSERT ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_changed AFTER UPDATE ON zone_settings
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone); END;
CREATE TRIGGER edge_setting_gone AFTER DELETE ON zone_settings
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
`,
};
