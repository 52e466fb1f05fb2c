/** Zones, and the settings of zones that only the edge obeys. */
export const ZONES = `
-- Deleted zones never give their number to another one, since logs name zones by it.
CREATE TABLE zones (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  apex BLOB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('initializing', 'pending', 'active', 'moved')),
  -- A name is answered from one zone only, however many accounts wait for it.
  served INTEGER NOT NULL CHECK (served IN (0, 1)),
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  type TEXT NOT NULL CHECK (type IN ('full', 'partial', 'secondary', 'internal')),
  serial INTEGER NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
  soa_mname TEXT,
  soa_rname TEXT,
  soa_refresh INTEGER,
  soa_retry INTEGER,
  soa_expire INTEGER,
  soa_minimum INTEGER,
  soa_ttl INTEGER,
  ns_ttl INTEGER,
  name_server_mode TEXT NOT NULL DEFAULT 'service' CHECK (name_server_mode IN ('service', 'records')),
  multi_provider INTEGER NOT NULL DEFAULT 0 CHECK (multi_provider IN (0, 1)),
  flatten_all_cnames INTEGER NOT NULL DEFAULT 0 CHECK (flatten_all_cnames IN (0, 1)),
  foundation_dns INTEGER NOT NULL DEFAULT 0 CHECK (foundation_dns IN (0, 1)),
  secondary_overrides INTEGER NOT NULL DEFAULT 0 CHECK (secondary_overrides IN (0, 1)),
  zone_mode TEXT NOT NULL DEFAULT 'standard' CHECK (zone_mode IN ('standard', 'cdn_only', 'dns_only')),
  multi_signer INTEGER NOT NULL DEFAULT 0 CHECK (multi_signer IN (0, 1)),
  http2 INTEGER NOT NULL DEFAULT 1 CHECK (http2 IN (0, 1)),
  http2_modified_at INTEGER,
  http3 INTEGER NOT NULL DEFAULT 1 CHECK (http3 IN (0, 1)),
  http3_modified_at INTEGER,
  vanity_name_servers TEXT CHECK (vanity_name_servers IS NULL OR json_valid(vanity_name_servers)),
  original_name_servers TEXT CHECK (original_name_servers IS NULL OR json_valid(original_name_servers)),
  verification_key TEXT,
  hold_after INTEGER,
  hold_include_subdomains INTEGER NOT NULL DEFAULT 0 CHECK (hold_include_subdomains IN (0, 1)),
  record_count INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  activated_at INTEGER,
  -- Whether it ever had a hold.
  hold_set INTEGER NOT NULL DEFAULT 0 CHECK (hold_set IN (0, 1)),
  universal_certificate INTEGER NOT NULL DEFAULT 1 CHECK (universal_certificate IN (0, 1)),
  universal_authority TEXT NOT NULL DEFAULT '',
  unique_targets INTEGER NOT NULL DEFAULT 0 CHECK (unique_targets IN (0, 1)),
  unique_targets_modified_at INTEGER,
  -- JSON list of the names that certificates of the zone cover: only they have HTTPS records.
  certified_names TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(certified_names)),
  -- 1: served with signatures. 2: has a row in dnssec_zones, but is served without signatures.
  signed INTEGER NOT NULL DEFAULT 0 CHECK (signed IN (0, 1, 2)),
  -- A copy of enforce_dns_only of the account, so that the row says how the zone is answered.
  account_dns_only INTEGER NOT NULL DEFAULT 0 CHECK (account_dns_only IN (0, 1)),
  -- The set of its records; an import or a restoration switches to another one.
  record_set INTEGER REFERENCES record_sets (number),
  -- The copy of a secondary zone may not be served: there is none yet, or no primary was reached for too long.
  expired INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
  -- What proved that the name is the account's. 'trust': nothing did, but the installation trusts who comes first.
  proven_by TEXT CHECK (proven_by IN ('operator', 'delegation', 'txt', 'trust')),
  proven_at INTEGER,
  -- Since when a proof that was found before is no longer found.
  proof_lost_at INTEGER,
  -- JSON list: those of the installation to which the zone is to be delegated. NULL: all of them.
  name_servers TEXT,
  -- The labels in reverse, each followed by a dot, to find the names below a name: example.com is com.example.
  reversed_name TEXT NOT NULL DEFAULT '',
  -- The newest edit that is no longer kept; NULL: none is missing since 'history_from' in meta.
  history_from INTEGER,
  UNIQUE (name, account)
) STRICT;
CREATE UNIQUE INDEX zones_served ON zones (name) WHERE served = 1;
CREATE INDEX zones_account ON zones (account);
-- Holds all that the usual filters look at, so that pages are found without the rows.
CREATE INDEX zones_list ON zones (name, id, type, account, status);
CREATE UNIQUE INDEX zones_record_set ON zones (record_set);
CREATE INDEX zones_by_reversed_name ON zones (reversed_name, account);

-- Settings that only the edge obeys. value: JSON. What is not here has its default.
CREATE TABLE zone_settings (
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (zone, name)
) STRICT, WITHOUT ROWID;
`;
