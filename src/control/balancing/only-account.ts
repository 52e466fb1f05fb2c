/** The account of clients that do not name one (v4: `/user/load_balancers`). */
import { toHex } from '../../base/bytes.js';
import { allAccounts } from '../../store/access/accounts.js';
import { maySeeAccount, requirePermission } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import type { Level } from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { balancingFailure } from './errors.js';

/** Identifier of the caller's only account. Throws 400 when it has several, 403 when its policies do not allow the action there. */
export function requireOnlyAccount({ store, actor }: Context, level: Level): string {
  const ids = allAccounts(store)
    .map(({ id }) => toHex(id))
    .filter((id) => maySeeAccount(actor, id));
  const [only] = ids;
  if (only === undefined) throw accountFailure('none');
  if (ids.length > 1) throw balancingFailure('severalAccounts', { count: ids.length });
  requirePermission(actor, 'loadBalancing', level, { account: only });
  return only;
}
