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
    multi_provider: z.boolean().describe('Whether NS records at the apex are answered'),
    nameservers: z.object({ type: z.literal('cloudflare.standard') }),
    ns_ttl: z.int(),
    secondary_overrides: z.boolean(),
    soa,
    zone_mode: z.enum(['standard', 'cdn_only', 'dns_only']),
  })
  .meta({ id: 'DnsSettings' });

export type DnsSettings = z.output<typeof dnsSettings>;

export const dnsSettingsEdit = z
  .object({ ...dnsSettings.partial().shape, soa: soa.partial().optional() })
  .meta({ id: 'DnsSettingsEdit', description: 'Absent members stay, those of `soa` too.' });
