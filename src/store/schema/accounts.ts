/** Accounts, users and their credentials. */
export const ACCOUNTS = `
-- What there is one of: identity of the installation, counters, settings that all processes share.
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

-- 'key': with the user's e-mail as X-Auth-Key, and as bearer token. 'token': as bearer token only. hash: of the secret, which is
-- not stored.
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
  last_used_at INTEGER,
  -- JSON list; NULL: everything its user may do, within account, zones and read_only.
  policies TEXT CHECK (policies IS NULL OR json_valid(policies)),
  -- {"in": [...], "not_in": [...]} of CIDR texts; NULL: from anywhere.
  networks TEXT CHECK (networks IS NULL OR json_valid(networks)),
  not_before INTEGER,
  modified_at INTEGER,
  disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  -- 1: it belongs to its account and outlives the membership of the user who made it.
  account_owned INTEGER NOT NULL DEFAULT 0 CHECK (account_owned IN (0, 1))
) STRICT;
CREATE INDEX api_keys_account ON api_keys (account) WHERE account_owned = 1;

-- A browser that works with a credential until it signs out.
CREATE TABLE sessions (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  -- The hash that the credential had then: a session ends when its credential gets another secret.
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_credential ON sessions (credential);

-- Removed when it is used.
CREATE TABLE login_links (
  seq INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  credential INTEGER NOT NULL REFERENCES api_keys (seq) ON DELETE CASCADE,
  credential_hash BLOB NOT NULL CHECK (length(credential_hash) = 32),
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_links_credential ON login_links (credential);

-- What new zones begin with: the columns of zones with the same names. NULL: the service's default, as there.
CREATE TABLE account_dns_settings (
  account INTEGER PRIMARY KEY REFERENCES accounts (seq) ON DELETE CASCADE,
  enforce_dns_only INTEGER NOT NULL DEFAULT 0 CHECK (enforce_dns_only IN (0, 1)),
  flatten_all_cnames INTEGER NOT NULL DEFAULT 0 CHECK (flatten_all_cnames IN (0, 1)),
  foundation_dns INTEGER NOT NULL DEFAULT 0 CHECK (foundation_dns IN (0, 1)),
  multi_provider INTEGER NOT NULL DEFAULT 0 CHECK (multi_provider IN (0, 1)),
  secondary_overrides INTEGER NOT NULL DEFAULT 0 CHECK (secondary_overrides IN (0, 1)),
  zone_mode TEXT NOT NULL DEFAULT 'standard' CHECK (zone_mode IN ('standard', 'cdn_only', 'dns_only')),
  ns_ttl INTEGER,
  soa_mname TEXT,
  soa_rname TEXT,
  soa_refresh INTEGER,
  soa_retry INTEGER,
  soa_expire INTEGER,
  soa_minimum INTEGER,
  soa_ttl INTEGER
) STRICT;
`;
