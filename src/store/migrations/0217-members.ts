/** Members of accounts: roles, policies, groups and invitations. Members of before keep everything they could do. */
import type { Steps } from './migration.js';

export default {
  sql: `
ALTER TABLE users ADD COLUMN country TEXT;
ALTER TABLE users ADD COLUMN telephone TEXT;
ALTER TABLE users ADD COLUMN zipcode TEXT;

ALTER TABLE memberships ADD COLUMN status TEXT NOT NULL DEFAULT 'accepted' CHECK (status IN ('pending', 'accepted'));
-- JSON list of identifiers. Default: the role with everything.
ALTER TABLE memberships ADD COLUMN roles TEXT NOT NULL DEFAULT '["33666b9c79b9a5273fc7344ff42f953d"]' CHECK (json_valid(roles));
-- JSON list of policies; NULL: the roles count.
ALTER TABLE memberships ADD COLUMN policies TEXT CHECK (policies IS NULL OR json_valid(policies));
-- NULL: when it was created.
ALTER TABLE memberships ADD COLUMN accepted_at INTEGER;
CREATE INDEX memberships_account ON memberships (account);

-- Sets of zones for policies. whole 1: everything in the account.
CREATE TABLE resource_groups (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX resource_groups_account ON resource_groups (account);

-- A deleted zone leaves its groups.
CREATE TABLE resource_group_zones (
  resource_group INTEGER NOT NULL REFERENCES resource_groups (seq) ON DELETE CASCADE,
  zone INTEGER NOT NULL REFERENCES zones (seq) ON DELETE CASCADE,
  PRIMARY KEY (resource_group, zone)
) STRICT, WITHOUT ROWID;
CREATE INDEX resource_group_zones_zone ON resource_group_zones (zone);

-- Members who share policies.
CREATE TABLE user_groups (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  name TEXT NOT NULL,
  policies TEXT NOT NULL CHECK (json_valid(policies)),
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL
) STRICT;
CREATE INDEX user_groups_account ON user_groups (account);

CREATE TABLE user_group_members (
  user_group INTEGER NOT NULL REFERENCES user_groups (seq) ON DELETE CASCADE,
  membership INTEGER NOT NULL REFERENCES memberships (seq) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_group, membership)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_group_members_membership ON user_group_members (membership);

-- member: identifier of the membership, which may be gone. invited_by: an e-mail address.
CREATE TABLE invitations (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  account INTEGER NOT NULL REFERENCES accounts (seq) ON DELETE CASCADE,
  user INTEGER NOT NULL REFERENCES users (seq) ON DELETE CASCADE,
  member BLOB NOT NULL CHECK (length(member) = 16),
  invited_by TEXT NOT NULL,
  invited_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected'))
) STRICT;
CREATE INDEX invitations_user ON invitations (user);
CREATE INDEX invitations_account ON invitations (account, invited_at);
CREATE INDEX invitations_member ON invitations (member);
`,
} satisfies Steps;
