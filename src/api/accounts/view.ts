/** Accounts as v4 clients read them (v4: §12). */
import type { AccountItem } from '../../control/access/item.js';
import type { Quota } from '../../control/rules/quotas.js';
import { printTime } from '../times.js';
import type { Account, Quotas } from './schema.js';

export function quotasView(quotas: readonly Quota[]): Quotas {
  const entries = quotas.map(({ kind, used = null, most = null, isOwn }) => [
    kind,
    { used, most, own: isOwn, raised_by: 'administrator' },
  ]);
  return Object.fromEntries(entries) as Quotas;
}

export function accountView(item: AccountItem): Account {
  return {
    id: item.id,
    name: item.name,
    type: item.type,
    settings: { enforce_twofactor: item.enforcesTwoFactor, abuse_contact_email: null },
    created_on: printTime(item.createdAt),
  };
}
