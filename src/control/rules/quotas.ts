/**
 * How much an account may have of what all share. Without a quota of its own, an account has that of all from the moment there is
 * another account; one that is alone has none. Administrators raise it.
 */
import { defineErrors } from '../../base/errors.js';
import { isOnlyAccount } from '../../store/access/accounts.js';
import { findAccountQuota, QUOTA_KINDS, type QuotaKind, usedOfAccount } from '../../store/access/quotas.js';
import type { Store } from '../../store/driver.js';
import { recordFailure } from './record-failures.js';

/** What each account may have beside others. */
export const USUAL_QUOTAS: Readonly<Record<QuotaKind, number>> = {
  zones: 100_000,
  records: 5_000_000,
  records_per_file: 1_000_000,
  hostnames: 50_000,
  tokens: 10_000,
  members: 1_000,
  lists: 10_000,
  buckets: 1_000,
  objects: 10_000_000,
  octets: 2 ** 40,
  balancing: 10_000,
  rules: 16 * 2 ** 20,
};

/** The most that a quota can be: some checks look at all members of an account. */
export const MOST_MEMBERS = 1000;

/** What they are called in sentences. */
export const QUOTA_NAMES: Readonly<Record<QuotaKind, string>> = {
  zones: 'zones',
  records: 'records in all zones',
  records_per_file: 'records of one zone file',
  hostnames: 'custom hostnames',
  tokens: 'tokens',
  members: 'members',
  lists: 'peers, TSIG keys, networks and catalogs',
  buckets: 'buckets',
  objects: 'objects',
  octets: 'octets of objects',
  balancing: 'monitors, monitor groups, pools and load balancers',
  rules: 'octets of rules of zones',
};

const quotaFailure = defineErrors('quotas', {
  exceeded: {
    status: 403,
    code: 1405,
    text: 'The account may have {most} {what}, and has {used}. An administrator can raise this quota.',
  },
});

export interface Quota {
  readonly kind: QuotaKind;
  /** Undefined for what one request may bring. */
  readonly used: number | undefined;
  /** Undefined: no limit. */
  readonly most: number | undefined;
  /** Whether it is the account's own one. */
  readonly isOwn: boolean;
}

/** `account`: store number. */
export function quotaOf(store: Store, account: number, kind: QuotaKind): Quota {
  const own = findAccountQuota(store, account, kind);
  const used = kind === 'records_per_file' ? undefined : usedOfAccount(store, account, kind);
  const most = own ?? (isOnlyAccount(store) ? undefined : USUAL_QUOTAS[kind]);
  const bound = kind === 'members' ? Math.min(most ?? MOST_MEMBERS, MOST_MEMBERS) : most;
  return { kind, used, most: bound, isOwn: own !== undefined };
}

export function quotasOf(store: Store, account: number): readonly Quota[] {
  return QUOTA_KINDS.map((kind) => quotaOf(store, account, kind));
}

/** Throws 403 when the account (store number) may not have so many more. Call inside the write that adds them. */
export function requireRoomFor({ store }: { readonly store: Store }, account: number, kind: QuotaKind, more = 1): void {
  const { used = 0, most } = quotaOf(store, account, kind);
  if (most !== undefined && used + more > most) throw exceeded(kind, used, most);
}

/** Throws 400, as clients know it of records, when the account has more records than it may. */
export function requireRecordsWithin({ store }: { readonly store: Store }, account: number): void {
  const { used = 0, most } = quotaOf(store, account, 'records');
  if (most === undefined || used <= most) return;
  throw recordFailure('quota', {}, { chain: [{ code: 1405, message: sentenceOf('records', used, most) }] });
}

function exceeded(kind: QuotaKind, used: number, most: number) {
  return quotaFailure('exceeded', { most, used, what: QUOTA_NAMES[kind] });
}

function sentenceOf(kind: QuotaKind, used: number, most: number): string {
  return exceeded(kind, used, most).message;
}
