/** Rules of zones at the edge: redirects, rewrites, header fields, page rules. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- phase: that of the rules, or page_rules. rules: JSON list as the API shows it; octets: its length. version counts changes.
-- account: that of the zone.
CREATE TABLE rulesets (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL,
  phase TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  rules TEXT NOT NULL CHECK (json_valid(rules)),
  octets INTEGER NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  UNIQUE (zone, phase)
) STRICT;
CREATE INDEX rulesets_account ON rulesets (account);

CREATE TRIGGER rulesets_counted AFTER INSERT ON rulesets BEGIN
  INSERT INTO account_usage (account, kind, used) VALUES (NEW.account, 'rules', NEW.octets)
  ON CONFLICT (account, kind) DO UPDATE SET used = used + excluded.used;
END;
CREATE TRIGGER rulesets_recounted AFTER UPDATE OF octets ON rulesets BEGIN
  UPDATE account_usage SET used = used + NEW.octets - OLD.octets WHERE account = NEW.account AND kind = 'rules';
END;
CREATE TRIGGER rulesets_uncounted AFTER DELETE ON rulesets BEGIN
  UPDATE account_usage SET used = used - OLD.octets WHERE account = OLD.account AND kind = 'rules';
END;

-- The edge keeps the rules of a zone with what it knows of that.
CREATE TRIGGER edge_rules_added AFTER INSERT ON rulesets BEGIN
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone);
END;
CREATE TRIGGER edge_rules_changed AFTER UPDATE OF rules ON rulesets BEGIN
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', NEW.zone);
END;
CREATE TRIGGER edge_rules_gone AFTER DELETE ON rulesets BEGIN
  INSERT INTO edge_changes (kind, subject) VALUES ('zone', OLD.zone);
END;
`,
} satisfies Steps;
