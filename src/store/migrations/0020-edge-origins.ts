/** Changes of proxied records: where they lead does not show in DNS. */
import type { Migration } from './migration.js';

export const edgeOrigins: Migration = {
  version: 20,
  name: 'edge-origins',
  sql: `
-- A zone whose records are imported stands there once: the row moves to the end.
CREATE INDEX edge_changes_by_subject ON edge_changes (kind, subject);
CREATE TRIGGER edge_origin_added AFTER INSERT ON records WHEN NEW.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(NEW.zone AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone);
END;
CREATE TRIGGER edge_origin_changed AFTER UPDATE ON records WHEN NEW.proxied = 1 OR OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(NEW.zone AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone);
END;
CREATE TRIGGER edge_origin_gone AFTER DELETE ON records WHEN OLD.proxied = 1
BEGIN
  DELETE FROM edge_changes WHERE kind = 'zone' AND subject = CAST(OLD.zone AS TEXT);
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone);
END;
`,
};
