/** Accounts as v4 clients read them (v4: §12). */
import type { AccountItem } from '../../control/access/item.js';
import { printTime } from '../times.js';
import type { Account } from './schema.js';

export function accountView(item: AccountItem): Account {
  return {
    id: item.id,
    name: item.name,
    type: item.type,
    settings: { enforce_twofactor: false, abuse_contact_email: null },
    created_on: printTime(item.createdAt),
  };
}
