/** Invited users whom nobody has claimed yet. */
import { isSomebody } from '../control/people/members.js';
import { maySignIn, type UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';

/** Whether nobody can sign in or work as this user: whoever proves the address then becomes the user. */
export function isUnclaimed(store: Store, user: UserRow): boolean {
  return !maySignIn(store, user.seq) && !isSomebody({ store }, user);
}
