/** Invited users whom nobody has claimed yet. */
import { isSomebody } from '../control/people/members.js';
import { passkeysOfUser } from '../store/access/factors.js';
import { hasIdentity } from '../store/access/oidc.js';
import { findPassword } from '../store/access/passwords.js';
import type { UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';

/** Whether nobody can sign in or work as this user: whoever proves the address then becomes the user. */
export function isUnclaimed(store: Store, user: UserRow): boolean {
  return (
    findPassword(store, user.seq) === undefined &&
    passkeysOfUser(store, user.seq).length === 0 &&
    !hasIdentity(store, user.seq) &&
    !isSomebody({ store }, user)
  );
}
