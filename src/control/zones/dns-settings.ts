/** Use cases of a zone's DNS settings: SOA timers, NS TTL, modes (v4: §8). */
import type { ZoneDefaultsRow } from '../../store/access/dns-settings.js';
import type { ZoneMode } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { parseHostName } from '../rules/names.js';
import { type DnsSettingsItem, dnsSettingsItem } from './item.js';
import { changeAnswers } from './write.js';

const FLAGS = ['flatten_all_cnames', 'foundation_dns', 'multi_provider', 'secondary_overrides'] as const;

/** Columns of the members of `soa` that are numbers of seconds. */
const TIMERS = {
  refresh: 'soa_refresh',
  retry: 'soa_retry',
  expire: 'soa_expire',
  min_ttl: 'soa_minimum',
  ttl: 'soa_ttl',
} as const;

/** Null means that a member is absent, but for `mname`. */
export type DnsSettingsEdit = { readonly [Flag in (typeof FLAGS)[number]]?: boolean | null | undefined } & {
  readonly zone_mode?: ZoneMode | null | undefined;
  readonly ns_ttl?: number | null | undefined;
  readonly soa?: SoaEdit | null | undefined;
};

type SoaEdit = { readonly [Timer in keyof typeof TIMERS]?: number | null | undefined } & {
  /** Null: the service chooses. */
  readonly mname?: string | null | undefined;
  readonly rname?: string | null | undefined;
};

export async function getDnsSettings(ctx: Context, zoneId: string): Promise<DnsSettingsItem> {
  return dnsSettingsItem(requireZone(ctx, zoneId), ctx.settings.nameServers);
}

/** PATCH: members that are absent stay, also those inside `soa`. */
export async function editDnsSettings(ctx: Context, zoneId: string, edit: DnsSettingsEdit): Promise<DnsSettingsItem> {
  const zone = await changeAnswers(ctx, zoneId, 'dns_settings.edit', (current) => readDnsSettings(ctx, current, edit));
  return dnsSettingsItem(zone, ctx.settings.nameServers);
}

/** The columns that an edit changes. `parent` is where the members stand in the body, such as `/zone_defaults`. */
export function readDnsSettings(
  ctx: Context,
  before: ZoneDefaultsRow,
  edit: DnsSettingsEdit,
  parent = '',
): Partial<ZoneDefaultsRow> {
  const change: Record<string, string | number | null> = {};
  for (const flag of FLAGS) {
    const value = edit[flag] ?? undefined;
    if (value !== undefined) change[flag] = value ? 1 : 0;
  }
  const { zone_mode: mode, ns_ttl: nsTtl, soa } = edit;
  return {
    ...change,
    ...(mode && { zone_mode: mode }),
    ...(nsTtl && { ns_ttl: nsTtl }),
    ...(soa && readSoa(ctx, before, soa, `${parent}/soa`)),
  };
}

function readSoa(ctx: Context, before: ZoneDefaultsRow, edit: SoaEdit, parent: string): Partial<ZoneDefaultsRow> {
  const { mname, rname } = edit;
  const change: Record<string, string | number | null> = {};
  if (mname !== undefined) change['soa_mname'] = mname === null ? null : readHost('mname', mname, parent);
  if (rname !== undefined && rname !== null) change['soa_rname'] = readHost('rname', rname, parent);
  for (const [member, column] of Object.entries(TIMERS)) {
    const seconds = edit[member as keyof typeof TIMERS];
    if (seconds !== undefined && seconds !== null) change[column] = seconds;
  }
  const after: ZoneDefaultsRow = { ...before, ...change };
  const { refresh, retry, expire } = dnsSettingsItem(after, ctx.settings.nameServers).soa;
  if (retry > refresh) throw badBody('soa.retry must not be larger than soa.refresh', `${parent}/retry`);
  if (expire < refresh) throw badBody('soa.expire must not be smaller than soa.refresh', `${parent}/expire`);
  return change;
}

function readHost(member: string, text: string, parent: string): string {
  const host = parseHostName(text);
  if (host === undefined) throw badBody(`soa.${member} must be a host name`, `${parent}/${member}`);
  return host;
}
