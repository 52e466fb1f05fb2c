/** Identity providers of the installation, and who their people are here. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- client_secret: sealed; NULL: a public client. group_map: JSON list of {group, account, role}. domains: JSON list.
CREATE TABLE oidc_providers (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_secret BLOB,
  scopes TEXT NOT NULL,
  groups_claim TEXT NOT NULL,
  group_map TEXT NOT NULL CHECK (json_valid(group_map)),
  domains TEXT NOT NULL CHECK (json_valid(domains)),
  creates TEXT NOT NULL CHECK (creates IN ('never', 'mapped', 'always')),
  updates_roles INTEGER NOT NULL CHECK (updates_roles IN (0, 1)),
  -- 1: its word about addresses of domains counts without email_verified.
  trusts_email INTEGER NOT NULL CHECK (trusts_email IN (0, 1)),
  -- 1: a second factor that was given there counts here.
  trusts_factors INTEGER NOT NULL CHECK (trusts_factors IN (0, 1)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;

-- Who somebody is at an issuer: never the e-mail address.
CREATE TABLE oidc_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX oidc_identities_user ON oidc_identities (user);
`,
} satisfies Steps;
