/** Signals about zones whose parents have no DS record yet (RFC 9615). */
import type { Migration } from './migration.js';

export const signals: Migration = {
  version: 65,
  name: 'signals',
  sql: `
-- signals: the zone tells of the keys of zones whose name servers have names in it.
ALTER TABLE dnssec_zones ADD COLUMN signals INTEGER NOT NULL DEFAULT 0 CHECK (signals IN (0, 1));

-- CDS and CDNSKEY records that a zone serves about another one. child: identifier of that zone, which may be gone.
CREATE TABLE dnssec_signals (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  child BLOB NOT NULL,
  PRIMARY KEY (zone, owner_key, type, rdata)
) STRICT, WITHOUT ROWID;
CREATE INDEX dnssec_signals_by_child ON dnssec_signals (child);
`,
};
