/** Accounts that require a second factor of their members. */
import { requiresTwoFactor } from '../store/access/accounts.js';
import type { SessionRow } from '../store/access/sessions.js';
import type { Store } from '../store/driver.js';
import { isStrong } from './begin.js';

/**
 * Whether an account of the person requires a second factor, and none was given in this session. It is asked at every request: the
 * account may require it since the session began.
 */
export function lacksSecondFactor(store: Store, { user, how }: SessionRow): boolean {
  return !isStrong(how.split(' ')) && requiresTwoFactor(store, user);
}
