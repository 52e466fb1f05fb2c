/** What new zones of an account begin with, and whether its proxied records are answered without the edge. */
import type { Migration } from './migration.js';

export const accountDnsSettings: Migration = {
  version: 25,
  name: 'account DNS settings',
  sql: `
-- The columns of zones with the same names begin with these values; NULL = the service's default, as there.
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

-- A copy of enforce_dns_only of the zone's account, so that a zone's row says how the zone is answered.
ALTER TABLE zones ADD COLUMN account_dns_only INTEGER NOT NULL DEFAULT 0 CHECK (account_dns_only IN (0, 1));
`,
};
