/**
 * Names of customers that are served by a zone, where their traffic goes, and how many certificates accounts asked for lately.
 */
export const HOSTNAMES = `
-- hostname: A-labels, lower case, no final dot; may begin with '*.'. state: hostnames/activation.ts.
-- ssl: what the customer asked for, JSON; NULL = no certificate. Times ending in _ms: milliseconds since 1970, others microseconds.
-- check_number: checks of the schedule that were done. next_check_ms: NULL = nothing is checked any more.
-- elsewhere_ms: since when the name leads elsewhere, of an active one. pointed_at: when it was last seen to lead here.
CREATE TABLE custom_hostnames (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  hostname TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'blocked', 'moved')),
  txt_token TEXT NOT NULL,
  http_token TEXT NOT NULL,
  errors TEXT NOT NULL CHECK (json_valid(errors)),
  ssl TEXT CHECK (json_valid(ssl)),
  metadata TEXT CHECK (json_valid(metadata)),
  origin TEXT,
  origin_sni TEXT,
  check_number INTEGER NOT NULL,
  next_check_ms INTEGER,
  elsewhere_count INTEGER NOT NULL,
  elsewhere_ms INTEGER,
  pointed_at INTEGER,
  activated_at INTEGER,
  activated_by TEXT,
  moved_at INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- The zone here whose records proved it; NULL: it was proven outside.
  proof_zone INTEGER,
  reversed_name TEXT NOT NULL DEFAULT '',
  UNIQUE (zone, hostname)
) STRICT;
CREATE INDEX custom_hostnames_by_name ON custom_hostnames (hostname, state);
CREATE INDEX custom_hostnames_by_age ON custom_hostnames (zone, created_at, id);
CREATE INDEX custom_hostnames_by_proof_zone ON custom_hostnames (proof_zone) WHERE proof_zone IS NOT NULL;
CREATE INDEX custom_hostnames_by_reversed_name ON custom_hostnames (reversed_name);

CREATE TABLE fallback_origins (
  zone INTEGER PRIMARY KEY REFERENCES zones (seq) ON DELETE CASCADE,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;

-- Requests for certificates that were granted in the last minute.
CREATE TABLE issuance_events (
  seq INTEGER PRIMARY KEY,
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX issuance_events_by_account ON issuance_events (account, at_ms);

CREATE TABLE issuance_lockouts (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  until_ms INTEGER NOT NULL
) STRICT;

-- What an account may have instead of what all have; NULL: as all.
CREATE TABLE hostname_allowances (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  issuance_count INTEGER,
  issuance_window_s INTEGER,
  issuance_lockout_s INTEGER,
  apex_addresses INTEGER NOT NULL CHECK (apex_addresses IN (0, 1))
) STRICT;
`;
