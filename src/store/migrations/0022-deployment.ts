/** Certificates tell renewals apart, and edge processes hear of hostnames only when something about them is different. */
import type { Migration } from './migration.js';

export const deployment: Migration = {
  version: 22,
  name: 'deployment',
  sql: `
-- renewal 1: it replaced a certificate that was served for the same names.
ALTER TABLE certificates ADD COLUMN renewal INTEGER NOT NULL DEFAULT 0 CHECK (renewal IN (0, 1));

DROP TRIGGER edge_hostname_changed;
CREATE TRIGGER edge_hostname_changed AFTER UPDATE OF state, ssl, metadata, origin, origin_sni ON custom_hostnames
WHEN OLD.state IS NOT NEW.state OR OLD.ssl IS NOT NEW.ssl OR OLD.metadata IS NOT NEW.metadata
  OR OLD.origin IS NOT NEW.origin OR OLD.origin_sni IS NOT NEW.origin_sni
BEGIN INSERT INTO edge_changes (kind, subject) VALUES ('hostname', NEW.hostname); END;
`,
};
