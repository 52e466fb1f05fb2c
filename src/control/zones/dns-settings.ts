/** Use cases of a zone's DNS settings: SOA timers, NS TTL, modes (v4: §8). */
import type { ZoneChange, ZoneMode, ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../access/access.js';
import { parseHostName } from '../rules/names.js';
import type { Context } from '../write/context.js';
import { badBody } from '../write/errors.js';
import { type DnsSettingsItem, dnsSettingsItem } from './item.js';
import { changeZone } from './write.js';

type Body = Readonly<Record<string, unknown>>;

const FLAGS = ['flatten_all_cnames', 'foundation_dns', 'multi_provider', 'secondary_overrides'] as const;
const MODES: readonly ZoneMode[] = ['standard', 'cdn_only', 'dns_only'];
const NS_TTL = { least: 30, most: 86400 };

/** Members of `soa` that are numbers of seconds: the column of each and its range. */
const TIMERS = {
  refresh: { column: 'soa_refresh', least: 600, most: 86400 },
  retry: { column: 'soa_retry', least: 600, most: 86400 },
  expire: { column: 'soa_expire', least: 86400, most: 2419200 },
  min_ttl: { column: 'soa_minimum', least: 60, most: 86400 },
  ttl: { column: 'soa_ttl', least: 300, most: 86400 },
} as const;

export async function getDnsSettings(ctx: Context, zoneId: string): Promise<DnsSettingsItem> {
  return dnsSettingsItem(requireZone(ctx, zoneId), ctx.settings.nameServers);
}

/** PATCH, unchecked body: members that are absent stay, also those inside `soa`. */
export async function editDnsSettings(ctx: Context, zoneId: string, edit: unknown): Promise<DnsSettingsItem> {
  if (!isObject(edit)) throw badBody('expected an object');
  const zone = await changeZone(ctx, zoneId, 'dns_settings.edit', (current) => readSettings(ctx, current, edit));
  return dnsSettingsItem(zone, ctx.settings.nameServers);
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readSettings(ctx: Context, zone: ZoneRow, edit: Body): ZoneChange {
  const change: Record<string, string | number | null> = {};
  for (const flag of FLAGS) {
    const value = edit[flag] ?? undefined;
    if (value === undefined) continue;
    if (typeof value !== 'boolean') throw badBody(`${flag} must be true or false`, `/${flag}`);
    change[flag] = value ? 1 : 0;
  }
  const mode = edit['zone_mode'] ?? undefined;
  if (mode !== undefined) {
    if (!MODES.includes(mode as ZoneMode)) throw badBody(`zone_mode must be one of ${MODES.join(', ')}`, '/zone_mode');
    change['zone_mode'] = mode as ZoneMode;
  }
  if ((edit['ns_ttl'] ?? undefined) !== undefined) change['ns_ttl'] = readSeconds(edit['ns_ttl'], NS_TTL, '/ns_ttl');
  refuseOtherNameServers(edit['nameservers']);
  const soa = edit['soa'] ?? undefined;
  if (soa !== undefined) {
    if (!isObject(soa)) throw badBody('soa must be an object', '/soa');
    Object.assign(change, readSoa(ctx, zone, soa));
  }
  return change as ZoneChange;
}

function readSoa(ctx: Context, zone: ZoneRow, soa: Body): ZoneChange {
  const change: Record<string, string | number | null> = {};
  if (soa['mname'] !== undefined) change['soa_mname'] = soa['mname'] === null ? null : readHost(soa, 'mname');
  if ((soa['rname'] ?? undefined) !== undefined) change['soa_rname'] = readHost(soa, 'rname');
  for (const [member, { column, ...range }] of Object.entries(TIMERS)) {
    if ((soa[member] ?? undefined) !== undefined) change[column] = readSeconds(soa[member], range, `/soa/${member}`);
  }
  const { refresh, retry, expire } = dnsSettingsItem(
    { ...zone, ...(change as ZoneChange) },
    ctx.settings.nameServers,
  ).soa;
  if (retry > refresh) throw badBody('soa.retry must not be larger than soa.refresh', '/soa/retry');
  if (expire < refresh) throw badBody('soa.expire must not be smaller than soa.refresh', '/soa/expire');
  return change as ZoneChange;
}

function readHost(soa: Body, member: string): string {
  const text = soa[member];
  const host = typeof text === 'string' ? parseHostName(text) : undefined;
  if (host === undefined) throw badBody(`soa.${member} must be a host name`, `/soa/${member}`);
  return host;
}

function readSeconds(
  value: unknown,
  range: { readonly least: number; readonly most: number },
  pointer: string,
): number {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= range.least && value <= range.most;
  const name = pointer.slice(1).replace('/', '.');
  if (!fits) throw badBody(`${name} must be a number of seconds from ${range.least} to ${range.most}`, pointer);
  return value;
}

/** The service has one set of name servers; asking for it by its name is no error. */
function refuseOtherNameServers(value: unknown): void {
  if (value === undefined || value === null) return;
  const type = isObject(value) ? value['type'] : undefined;
  if (type !== undefined && type !== 'cloudflare.standard' && type !== 'cloudflare.advanced') {
    throw badBody('nameservers.type must be cloudflare.standard', '/nameservers/type');
  }
}
