/** Quotas of accounts: reading them, and changing those of one account. */
import { type QuotaKind, setAccountQuota } from '../../store/access/quotas.js';
import { requireAccount } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { MOST_MEMBERS, type Quota, quotaOf, quotasOf } from '../rules/quotas.js';

/** Members that are absent stay as they are; null: as all accounts have it. */
export type QuotaEdit = Partial<Readonly<Record<QuotaKind, number | null | undefined>>>;

/** What the account has and may have. */
export async function listQuotas(ctx: Context, accountId: string): Promise<readonly Quota[]> {
  return quotasOf(ctx.store, requireAccount(ctx, accountId).seq);
}

/** Only for super administrators. */
export async function editQuotas(ctx: Context, accountId: string, edit: QuotaEdit): Promise<readonly Quota[]> {
  if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
  const { value } = await commit(ctx, (draft) => {
    for (const [kind, most] of Object.entries(edit) as [QuotaKind, number | null | undefined][]) {
      if (most !== undefined) changeQuota(ctx, draft, accountId, kind, most);
    }
    return quotasOf(ctx.store, requireAccount(ctx, accountId).seq);
  });
  return value;
}

/** Inside a commit. `most` null: as all accounts have it. */
export function changeQuota(
  ctx: Context,
  draft: Pick<Draft, 'event'>,
  accountId: string,
  kind: QuotaKind,
  most: number | null,
): void {
  const { seq: account, id, name } = requireAccount(ctx, accountId);
  if (kind === 'members' && (most ?? 0) > MOST_MEMBERS) {
    throw accountFailure('badInput', { reason: `An account has at most ${MOST_MEMBERS} members.` });
  }
  const before = quotaOf(ctx.store, account, kind);
  setAccountQuota(ctx.store, account, kind, most ?? undefined);
  const after = quotaOf(ctx.store, account, kind);
  const audited = { before: { [kind]: before.most ?? null }, after: { [kind]: after.most ?? null } };
  draft.event({ kind: 'account_quota.edit', account, id, name: `${kind} of ${name}`, ...audited });
}
