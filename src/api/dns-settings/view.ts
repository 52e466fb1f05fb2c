/** DNS settings as v4 clients read them (v4: §8). */
import type { AccountDnsSettingsItem } from '../../control/zones/account-dns-settings.js';
import type { DnsSettingsItem } from '../../control/zones/item.js';
import type { AccountDnsSettings, DnsSettings } from './schema.js';

export function dnsSettingsView({ soa, ...item }: DnsSettingsItem): DnsSettings {
  return {
    flatten_all_cnames: item.flattenAllCnames,
    foundation_dns: item.foundationDns,
    multi_provider: item.multiProvider,
    nameservers: { type: 'cloudflare.standard' },
    ns_ttl: item.nsTtl,
    secondary_overrides: item.secondaryOverrides,
    soa: {
      expire: soa.expire,
      min_ttl: soa.minTtl,
      mname: soa.mname,
      refresh: soa.refresh,
      retry: soa.retry,
      rname: soa.rname,
      ttl: soa.ttl,
    },
    zone_mode: item.zoneMode,
  };
}

export function accountDnsSettingsView(item: AccountDnsSettingsItem): AccountDnsSettings {
  return {
    zone_defaults: { ...dnsSettingsView(item.zoneDefaults), internal_dns: {} },
    enforce_dns_only: item.enforceDnsOnly,
  };
}
