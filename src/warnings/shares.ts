/** Of what accounts share: who has most of what, and who has nearly as much as it may. */
import { QUOTA_NAMES, quotaOf } from '../control/rules/quotas.js';
import { allAccounts, findAccount, isOnlyAccount } from '../store/access/accounts.js';
import { largestHolder, QUOTA_KINDS, type QuotaKind } from '../store/access/quotas.js';
import type { Examined } from './asked.js';
import type { Finding } from './finding.js';

const what = 'shares';
/** The part of a quota from which on it is a warning. */
const MUCH = 0.9;

/** Nothing for an account that is alone. */
export function examineShares(examined: Examined): Finding[] {
  const { store, zones } = examined;
  if (isOnlyAccount(store)) return [];
  if (!zones.all) return ofAccounts(examined);
  return QUOTA_KINDS.flatMap((kind) => {
    const holding = largestHolder(store, kind);
    return holding ? [findingOf(examined, kind, holding.account)] : [];
  });
}

/** What the caller's own accounts have nearly used up. */
function ofAccounts(examined: Examined): Finding[] {
  const own = allAccounts(examined.store).filter(({ seq }) => examined.seesAccount(seq));
  return own
    .flatMap(({ seq }) => QUOTA_KINDS.map((kind) => findingOf(examined, kind, seq)))
    .filter(({ kind }) => kind !== undefined);
}

function findingOf({ store, zones }: Examined, kind: QuotaKind, account: number): Finding {
  const name = findAccount(store, account)?.name ?? String(account);
  const { used = 0, most } = quotaOf(store, account, kind);
  const has = zones.all ? 'has most' : 'has';
  const text = `${name} ${has} ${QUOTA_NAMES[kind]}: ${used}${most === undefined ? '' : ` of ${most}`}`;
  if (most === undefined || used < most * MUCH) return { what, verdict: 'ok', text };
  const remedy = zones.all
    ? `Raise it with \`zoneplane account quota\`, or see what it has there.`
    : 'Delete what is not needed, or ask the operator for more.';
  return { what, verdict: 'warn', kind: 'quota-nearly-used', text, remedy };
}
