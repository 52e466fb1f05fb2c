/** What `doctor` says of what accounts share: who has most of what, and who has nearly as much as it may. */
import { QUOTA_NAMES, quotaOf } from '../../control/rules/quotas.js';
import { findAccount, isOnlyAccount } from '../../store/access/accounts.js';
import { type Holding, largestHolder, QUOTA_KINDS, type QuotaKind } from '../../store/access/quotas.js';
import type { Store } from '../../store/driver.js';
import type { Finding } from './finding.js';

/** The part of a quota from which on it is a warning. */
const MUCH = 0.9;

/** Nothing for an account that is alone. */
export function examineShares(store: Store): Finding[] {
  if (isOnlyAccount(store)) return [];
  return QUOTA_KINDS.flatMap((kind) => {
    const holding = largestHolder(store, kind);
    return holding ? [findingOf(store, kind, holding)] : [];
  });
}

function findingOf(store: Store, kind: QuotaKind, { account, used }: Holding): Finding {
  const what = 'shares';
  const name = findAccount(store, account)?.name ?? String(account);
  const { most } = quotaOf(store, account, kind);
  const text = `${name} has most ${QUOTA_NAMES[kind]}: ${used}${most === undefined ? '' : ` of ${most}`}`;
  if (most === undefined || used < most * MUCH) return { what, verdict: 'ok', text };
  return {
    what,
    verdict: 'warn',
    text,
    remedy: `Raise it with \`zoneplane account quota\`, or see what it has there.`,
  };
}
