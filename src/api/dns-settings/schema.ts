/** Shapes of the `dns_settings` of zones and accounts (v4: §8). */
import { z } from 'zod';

const soa = z.object({
  expire: z.int(),
  min_ttl: z.int(),
  mname: z.string().nullable().describe('null = assigned by the service'),
  refresh: z.int(),
  retry: z.int(),
  rname: z.string(),
  ttl: z.int(),
});

const settings = {
  flatten_all_cnames: z.boolean(),
  foundation_dns: z.boolean(),
  multi_provider: z.boolean().describe('Whether stored NS records at the apex are answered'),
  nameservers: z.object({ type: z.literal('cloudflare.standard') }),
  ns_ttl: z.int(),
  secondary_overrides: z.boolean(),
  soa,
  zone_mode: z.enum(['standard', 'cdn_only', 'dns_only']),
};

export const dnsSettings = z.object(settings).meta({ id: 'DnsSettings' });

export type DnsSettings = z.output<typeof dnsSettings>;

export const accountDnsSettings = z
  .object({
    zone_defaults: z.object({ ...settings, internal_dns: z.object({}) }),
    enforce_dns_only: z.boolean().describe('Whether proxied records are answered as if they were not proxied'),
  })
  .meta({ id: 'AccountDnsSettings' });

export type AccountDnsSettings = z.output<typeof accountDnsSettings>;

function seconds(least: number, most: number) {
  return z
    .int({ error: `a number of seconds from ${least} to ${most}` })
    .min(least, { error: `a number of seconds from ${least} to ${most}` })
    .max(most, { error: `a number of seconds from ${least} to ${most}` })
    .nullish();
}

const flag = z.boolean().nullish();

/** The service has one set of name servers, which has two names in v4. Any other set or choice is refused. */
const nameServers = z
  .object({
    type: z.enum(['cloudflare.standard', 'cloudflare.advanced'], { error: 'cloudflare.standard' }).nullish(),
  })
  .catchall(z.null({ error: 'absent: there is one set of name servers' }));

/** Zones have no other zone to fall back to. */
const internalDns = z.object({}).catchall(z.null({ error: 'absent: there are no internal zones' }));

const settingsEdit = {
  flatten_all_cnames: flag,
  foundation_dns: flag,
  internal_dns: internalDns.nullish(),
  multi_provider: flag,
  nameservers: nameServers.nullish(),
  ns_ttl: seconds(30, 86_400),
  secondary_overrides: flag,
  soa: z
    .object({
      expire: seconds(86_400, 2_419_200),
      min_ttl: seconds(60, 86_400),
      mname: z.string({ error: 'a host name' }).nullish().describe('null = assigned by the service'),
      refresh: seconds(600, 86_400),
      retry: seconds(600, 86_400),
      rname: z.string({ error: 'a host name' }).nullish(),
      ttl: seconds(300, 86_400),
    })
    .nullish(),
  zone_mode: z.enum(['standard', 'cdn_only', 'dns_only']).nullish(),
};

export const dnsSettingsEdit = z.object(settingsEdit).meta({
  id: 'DnsSettingsEdit',
  description: 'Absent members stay unchanged, also inside `soa`.',
  examples: [{ ns_ttl: 3600, soa: { refresh: 7200 } }],
});

export const accountDnsSettingsEdit = z
  .object({ zone_defaults: z.object(settingsEdit).nullish(), enforce_dns_only: flag })
  .meta({
    id: 'AccountDnsSettingsEdit',
    description: 'Absent members stay unchanged. `zone_defaults` are what zones created from now on begin with.',
    examples: [{ zone_defaults: { ns_ttl: 3600, soa: { refresh: 7200 } } }],
  });
