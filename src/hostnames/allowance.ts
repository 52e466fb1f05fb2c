/** What an account may have instead of what all have: the operator grants it. */

import { changeQuota } from '../control/access/quotas.js';
import { requireAccount } from '../control/guard/access.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { findAllowance, putAllowance } from '../store/hostnames/issuance.js';

/** Members that are absent stay as they are; null: as all have it. */
export interface AllowanceChange {
  /** Certificates in a window of so many seconds, and how long there are none for who asks for more. */
  readonly issuanceCount?: number | null;
  readonly issuanceWindowSeconds?: number | null;
  readonly issuanceLockoutSeconds?: number | null;
  /** Custom hostnames of all zones together. */
  readonly hostnames?: number | null;
  /** Whether A and AAAA records alone prove that a hostname is meant for the account. */
  readonly apexAddresses?: boolean;
}

export async function setAllowance(ctx: Context, accountId: string, change: AllowanceChange): Promise<void> {
  await commit(ctx, (draft) => {
    const { seq: account, id, name } = requireAccount(ctx, accountId);
    const before = findAllowance(ctx.store, account);
    const kept = (asked: number | null | undefined, known: number | null | undefined): number | null =>
      asked === undefined ? (known ?? null) : asked;
    const after = {
      issuance_count: kept(change.issuanceCount, before?.issuance_count),
      issuance_window_s: kept(change.issuanceWindowSeconds, before?.issuance_window_s),
      issuance_lockout_s: kept(change.issuanceLockoutSeconds, before?.issuance_lockout_s),
      apex_addresses: (change.apexAddresses ?? before?.apex_addresses === 1) ? 1 : 0,
    };
    putAllowance(ctx.store, { account, ...after });
    draft.event({ kind: 'hostname_allowance.edit', account, id, name, before, after });
    if (change.hostnames !== undefined) changeQuota(ctx, draft, accountId, 'hostnames', change.hostnames);
  });
}
