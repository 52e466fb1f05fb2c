/** Which account made a user by inviting them: all accounts share the users of an installation. */
import type { Steps } from './migration.js';

export default {
  sql: `
-- Identifier of the account, which may be gone. NULL: an administrator, or a provider, made the user.
ALTER TABLE users ADD COLUMN made_by BLOB CHECK (length(made_by) = 16);
CREATE INDEX users_made_by ON users (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX invitations_of_users ON invitations (user, invited_at);

-- Who was invited in the same write was made by it.
UPDATE users SET made_by = (
  SELECT a.id FROM invitations i JOIN accounts a ON a.seq = i.account WHERE i.user = users.seq AND i.invited_at = users.created_at
);
`,
} satisfies Steps;
