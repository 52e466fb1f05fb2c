/** A zone's row as use cases hand it out. */
import { toHex } from '../base/bytes.js';
import { domainToUnicode } from '../dns/idna.js';
import { accountStatements } from '../store/accounts.js';
import {
  assignedNameServers,
  defaultMailbox,
  nsTtlOfZone,
  soaOfZone,
  ZONE_DEFAULTS,
  type ZoneRow,
} from '../store/zones.js';
import type { Context } from './context.js';
import type { DnsSettingsItem, ZoneItem } from './items.js';

export function zoneItem(ctx: Context, zone: ZoneRow): ZoneItem {
  const account = accountStatements(ctx.store).bySeq.get(zone.account)!;
  const { nameServers } = ctx.settings;
  return {
    id: toHex(zone.id),
    name: domainToUnicode(zone.name),
    asciiName: zone.name,
    status: zone.status,
    paused: zone.paused === 1,
    type: zone.type,
    nameServers: assignedNameServers(zone, nameServers),
    originalNameServers: parseList(zone.original_name_servers),
    vanityNameServers: parseList(zone.vanity_name_servers),
    verificationKey: zone.verification_key,
    account: { id: toHex(account.id), name: account.name },
    createdAt: zone.created_at,
    modifiedAt: zone.modified_at,
    activatedAt: zone.activated_at,
    recordCount: zone.record_count,
    version: zone.version,
    soa: soaOfZone(zone, nameServers),
    nameServerMode: zone.name_server_mode,
  };
}

function parseList(text: string | null): readonly string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}

export function dnsSettingsItem(zone: ZoneRow, nameServers: readonly string[]): DnsSettingsItem {
  return {
    flattenAllCnames: zone.flatten_all_cnames === 1,
    foundationDns: zone.foundation_dns === 1,
    multiProvider: zone.multi_provider === 1,
    secondaryOverrides: zone.secondary_overrides === 1,
    nsTtl: nsTtlOfZone(zone),
    zoneMode: zone.zone_mode,
    soa: {
      mname: zone.soa_mname,
      rname: zone.soa_rname ?? defaultMailbox(nameServers),
      refresh: zone.soa_refresh ?? ZONE_DEFAULTS.refresh,
      retry: zone.soa_retry ?? ZONE_DEFAULTS.retry,
      expire: zone.soa_expire ?? ZONE_DEFAULTS.expire,
      minTtl: zone.soa_minimum ?? ZONE_DEFAULTS.minimum,
      ttl: zone.soa_ttl ?? ZONE_DEFAULTS.soaTtl,
    },
  };
}
