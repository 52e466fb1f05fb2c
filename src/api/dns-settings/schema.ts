/** Shape of `dns_settings` of a zone (v4: §8). */
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

export const dnsSettings = z
  .object({
    flatten_all_cnames: z.boolean(),
    foundation_dns: z.boolean(),
    multi_provider: z.boolean().describe('Whether stored NS records at the apex are answered'),
    nameservers: z.object({ type: z.literal('cloudflare.standard') }),
    ns_ttl: z.int(),
    secondary_overrides: z.boolean(),
    soa,
    zone_mode: z.enum(['standard', 'cdn_only', 'dns_only']),
  })
  .meta({ id: 'DnsSettings' });

export type DnsSettings = z.output<typeof dnsSettings>;

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

export const dnsSettingsEdit = z
  .object({
    flatten_all_cnames: flag,
    foundation_dns: flag,
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
  })
  .meta({
    id: 'DnsSettingsEdit',
    description: 'Absent members stay unchanged, also inside `soa`.',
    examples: [{ ns_ttl: 3600, soa: { refresh: 7200 } }],
  });
