/** The account of clients that do not name one (v4: `/user/load_balancers`). */
import { toHex } from '../../base/bytes.js';
import { allAccounts } from '../../store/access/accounts.js';
import { membersOfUser } from '../../store/access/members.js';
import { findUserById } from '../../store/access/users.js';
import type { Store } from '../../store/driver.js';
import { maySeeAccount, parseId, requirePermission } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import type { Actor } from '../guard/actor.js';
import type { Level } from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { balancingFailure } from './errors.js';

/** Identifier of the caller's only account. Throws 400 when it has several, 403 when its policies do not allow the action there. */
export function requireOnlyAccount({ store, actor }: Context, level: Level): string {
  const seen = allAccounts(store)
    .map(({ id }) => toHex(id))
    .filter((id) => maySeeAccount(actor, id));
  const ids = seen.length > 1 ? withoutUnasked(store, actor, seen) : seen;
  const [only] = ids;
  if (only === undefined) throw accountFailure('none');
  if (ids.length > 1) throw balancingFailure('severalAccounts', { count: ids.length });
  requirePermission(actor, 'loadBalancing', level, { account: only });
  return only;
}

/** Without accounts that have added the caller's user unasked: they take from nobody what works. */
function withoutUnasked(store: Store, actor: Actor, ids: readonly string[]): readonly string[] {
  const id = parseId(actor.userId);
  const user = id && findUserById(store, id);
  const memberships = user ? membersOfUser(store, user.seq) : [];
  const unasked = new Set(memberships.filter(({ agreed }) => agreed === 0).map((row) => toHex(row.account_id)));
  return ids.filter((one) => !unasked.has(one));
}
