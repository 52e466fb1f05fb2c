/**
 * Use cases of an account's DNS settings: what its new zones begin with, and `enforce_dns_only`, by which proxied
 * records of all its zones are answered as if they were not proxied (v4: §8).
 */
import { fromHex, toHex } from '../../base/bytes.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { type AccountRow, findAccountById } from '../../store/access/accounts.js';
import {
  type AccountDnsSettingsRow,
  accountDnsSettings,
  putAccountDnsSettings,
} from '../../store/access/dns-settings.js';
import { zonesUnlikeAccount } from '../../store/zones/zones.js';
import { requireAccount } from '../guard/access.js';
import { accountFailure } from '../guard/account-failures.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, commitAlone, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { type DnsSettingsEdit, readDnsSettings } from './dns-settings.js';
import { type DnsSettingsItem, dnsSettingsItem } from './item.js';

export interface AccountDnsSettingsItem {
  readonly enforceDnsOnly: boolean;
  readonly zoneDefaults: DnsSettingsItem;
}

/** Null means that a member is absent. */
export interface AccountDnsSettingsEdit {
  readonly enforce_dns_only?: boolean | null | undefined;
  readonly zone_defaults?: DnsSettingsEdit | null | undefined;
}

/** Hands a changed `enforce_dns_only` on to the rest of an account's zones. The subject is the account's identifier. */
export const ACCOUNT_ZONES_JOB = 'account_zones';

/** Limits of one transaction: the number of zones, and the number of records, which the last zone may exceed. */
const MOST_ZONES = 500;
const MOST_RECORDS = 50_000;

export async function getAccountDnsSettings(ctx: Context, accountId: string): Promise<AccountDnsSettingsItem> {
  return itemOf(ctx, accountDnsSettings(ctx.store, requireAccount(ctx, accountId).seq));
}

/** PATCH: members that are absent stay. Zones that exist keep their settings, apart from `enforce_dns_only`. */
export async function editAccountDnsSettings(
  ctx: Context,
  accountId: string,
  edit: AccountDnsSettingsEdit,
): Promise<AccountDnsSettingsItem> {
  const { value } = await commit(ctx, (draft) => {
    const account = requireAccount(ctx, accountId);
    // A credential for certain zones must not change others.
    if (ctx.actor.zoneIds !== undefined) throw accountFailure('outOfScope');
    const before = accountDnsSettings(ctx.store, account.seq);
    const changed = readDnsSettings(ctx, before.zoneDefaults, edit.zone_defaults ?? {}, '/zone_defaults');
    const enforced = edit.enforce_dns_only ?? before.enforce_dns_only === 1;
    const after = { enforce_dns_only: enforced ? 1 : 0, zoneDefaults: { ...before.zoneDefaults, ...changed } };
    putAccountDnsSettings(ctx.store, account.seq, after);
    const { seq, id, name } = account;
    const told = { before: flat(before), after: flat(after) };
    draft.event({ kind: 'account.dns_settings', account: seq, id, name, ...told });
    if (handOn(ctx, draft, account)) {
      const nowMs = ctx.clock.nowMs();
      schedule(ctx.store, { kind: ACCOUNT_ZONES_JOB, subject: toHex(account.id), runAtMs: nowMs }, nowMs);
    }
    return itemOf(ctx, after);
  });
  return value;
}

export function accountZonesJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      for (let more = true; more; ) {
        const { value } = await commitAlone(ctx, (draft) => {
          requireLease();
          const account = findAccountById(ctx.store, fromHex(subject)!);
          return account !== undefined && handOn(ctx, draft, account);
        });
        more = value;
      }
      return { done: true };
    },
  };
}

/** Makes some of the account's zones follow `enforce_dns_only`; returns whether there are more. */
function handOn({ store }: Context, draft: Draft, account: AccountRow): boolean {
  const { enforce_dns_only: dnsOnly } = accountDnsSettings(store, account.seq);
  const zones = zonesUnlikeAccount(store, account.seq, dnsOnly, MOST_ZONES + 1);
  let records = 0;
  for (const [index, [seq, count]] of zones.entries()) {
    if (index === MOST_ZONES || records >= MOST_RECORDS) return true;
    draft.setZone(seq, { account_dns_only: dnsOnly });
    draft.noteZone(seq, 'settings');
    records += count;
  }
  return false;
}

function itemOf({ settings }: Context, row: AccountDnsSettingsRow): AccountDnsSettingsItem {
  const zoneDefaults = dnsSettingsItem(row.zoneDefaults, settings.nameServers);
  return { enforceDnsOnly: row.enforce_dns_only === 1, zoneDefaults };
}

function flat({ zoneDefaults, enforce_dns_only }: AccountDnsSettingsRow): object {
  return { enforce_dns_only, ...zoneDefaults };
}
