/** What accounts have of that what all share, and what each may have instead of what all may. */

import { oneRow, valueIfAny, valueOrZero } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export const QUOTA_KINDS = [
  'zones',
  'records',
  'records_per_file',
  'hostnames',
  'tokens',
  'members',
  'lists',
  'buckets',
  'objects',
  'octets',
  'balancing',
  'rules',
] as const;

export type QuotaKind = (typeof QUOTA_KINDS)[number];

/** An account (store number) and how much it has. */
export interface Holding {
  readonly account: number;
  readonly used: number;
}

const statements = perStore((store) => ({
  put: store.prepare<[account: number, kind: string, most: number]>(
    `INSERT INTO account_quotas (account, kind, most) VALUES (?, ?, ?)
     ON CONFLICT (account, kind) DO UPDATE SET most = excluded.most`,
  ),
  remove: store.prepare<[account: number, kind: string]>('DELETE FROM account_quotas WHERE account = ? AND kind = ?'),
}));

/** How much an account (store number) has. */
export const usedOfAccount = valueOrZero<[account: number, kind: QuotaKind]>(
  'SELECT used FROM account_usage WHERE account = ? AND kind = ?',
);

/** What the account may have; undefined: what all may. */
export const findAccountQuota = valueIfAny<[account: number, kind: QuotaKind], number>(
  'SELECT most FROM account_quotas WHERE account = ? AND kind = ?',
);

/** Undefined: what all may have. Call inside a write. */
export function setAccountQuota(store: Store, account: number, kind: QuotaKind, most: number | undefined): void {
  if (most === undefined) statements(store).remove.run(account, kind);
  else statements(store).put.run(account, kind, most);
}

/** Which account has most of it; undefined when nobody has any. */
export const largestHolder = oneRow<[kind: QuotaKind], Holding>(
  'SELECT account, used FROM account_usage WHERE kind = ? AND used > 0 ORDER BY used DESC, account LIMIT 1',
);
