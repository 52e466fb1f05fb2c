/**
 * Accounts, credentials, zones, records, the change log and the audit log.
 *
 * Instants are microseconds since 1970. `seq` numbers never leave the installation; identifiers (`id`) are the 16 octets
 * the API shows as 32 hexadecimal digits. A NULL in a settings column means the service's default, so that a default that
 * changes later changes everywhere.
 */
import type { Migration } from '../migration.js';

export const foundation: Migration = {
  version: 1,
  name: 'foundation',
  sql: `
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('standard', 'enterprise')),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  email TEXT NOT NULL COLLATE NOCASE UNIQUE,
  first_name TEXT,
  last_name TEXT,
  super_administrator INTEGER NOT NULL CHECK (super_administrator IN (0, 1)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;

CREATE TABLE memberships (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  UNIQUE (user, account)
) STRICT;

-- 'key': with the user's e-mail as X-Auth-Key, and as bearer token. 'token': as bearer token only.
CREATE TABLE api_keys (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  account INTEGER REFERENCES accounts (seq) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('key', 'token')),
  name TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1)),
  zones TEXT CHECK (zones IS NULL OR json_valid(zones)),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  last_used_at INTEGER
) STRICT;

CREATE TABLE zones (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq),
  name TEXT NOT NULL,
  apex BLOB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('initializing', 'pending', 'active', 'moved')),
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
  UNIQUE (name, account)
) STRICT;
-- A name is answered from one zone only, however many accounts wait for it.
CREATE UNIQUE INDEX zones_served ON zones (name) WHERE served = 1;
CREATE INDEX zones_account ON zones (account);

-- rdata_key finds duplicates: the type's duplicate key, or its SHA-256 when it is longer than 64 octets.
CREATE TABLE records (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  owner_key BLOB NOT NULL,
  name TEXT NOT NULL,
  type INTEGER NOT NULL,
  content TEXT NOT NULL,
  rdata BLOB NOT NULL,
  rdata_key BLOB NOT NULL,
  ttl INTEGER NOT NULL,
  proxied INTEGER NOT NULL,
  settings TEXT,
  comment TEXT,
  tags TEXT,
  private_routing INTEGER,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  comment_modified_at INTEGER,
  tags_modified_at INTEGER
) STRICT;
CREATE UNIQUE INDEX records_owner ON records (zone, owner_key, type, rdata_key);

-- zone is a number without a reference: the zone may be gone when the change is read.
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  zone INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('zone-added', 'zone-removed', 'zone-replaced', 'rrs', 'settings', 'derived')),
  serial_from INTEGER,
  serial_to INTEGER,
  actor TEXT NOT NULL,
  request_id TEXT NOT NULL
) STRICT;
CREATE INDEX changes_zone ON changes (zone, seq);

-- op 0 removed, 1 added; removed ones come first.
CREATE TABLE change_rrs (
  change INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  op INTEGER NOT NULL CHECK (op IN (0, 1)),
  owner_key BLOB NOT NULL,
  type INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  rdata BLOB NOT NULL,
  PRIMARY KEY (change, ord)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  source TEXT NOT NULL,
  action TEXT NOT NULL,
  zone BLOB,
  object BLOB,
  request_id TEXT NOT NULL,
  before TEXT,
  after TEXT
) STRICT;
CREATE INDEX audit_zone ON audit (zone, seq);
`,
};
