/** Settings of the DNS server. */
import { z } from 'zod';
import { isHostName } from './host-names.js';
import { about } from './setting-about.js';
import { isAddress, isCidr, isInterfaceName, port, text, texts, wholeNumber } from './values.js';

/** The value of `tls-cert` that stands for a certificate of our own. */
export const AUTOMATIC = 'auto';

export const dnsSettings = {
  dnsHost: texts('IP addresses', isAddress, { atLeast: 1 }).prefault('0.0.0.0,::').register(about, {
    group: 'DNS',
    value: 'addresses',
    summary: 'Addresses on which the DNS server listens, separated by commas',
  }),
  dnsPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of the DNS server, UDP and TCP',
    defaultText: '53, or 1053 if 53 cannot be bound',
  }),
  dnsWorkers: wholeNumber(1, 256, 'a number of workers').optional().register(about, {
    group: 'DNS',
    value: 'count',
    summary: 'Threads that answer UDP queries',
    defaultText: 'one a core',
  }),
  udpTransport: z
    .enum(['auto', 'batched', 'portable'], { error: 'expected auto, batched or portable' })
    .default('auto')
    .register(about, {
      group: 'DNS',
      value: 'transport',
      summary: 'How UDP is served: `batched` (many packets in one system call, Linux), `portable`, or `auto`',
    }),
  dnsXdp: texts('names of network interfaces', isInterfaceName, { atLeast: 0 }).prefault('').register(about, {
    group: 'DNS',
    value: 'interfaces',
    mayBeEmpty: true,
    summary:
      'Network interfaces, separated by commas, whose UDP queries bypass the network stack of Linux (AF_XDP), and with it firewalls',
    defaultText: 'none',
  }),
  dotPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of DNS over TLS, on the same addresses; needs `tls-cert`',
    defaultText: 'off',
  }),
  dohPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of DNS over HTTPS at `/dns-query`, on the same addresses; needs `tls-cert`',
    defaultText: 'off',
  }),
  tlsCert: text().optional().register(about, {
    group: 'DNS',
    value: 'file',
    summary:
      'Certificate chain of DNS over TLS and HTTPS and of the admin API over HTTPS, PEM, reloaded when it changes; `auto`: a certificate that Zoneplane gets and renews by itself',
    defaultText: 'none',
  }),
  tlsKey: text().optional().register(about, {
    group: 'DNS',
    value: 'file',
    summary: 'Private key of that certificate, PEM; not with `auto`',
    defaultText: 'none',
  }),
  tlsNames: texts('host names', isHostName, { atLeast: 1 })
    .transform((names) => names.map((name) => name.toLowerCase().replace(/\.$/, '')))
    .optional()
    .register(about, {
      group: 'DNS',
      value: 'names',
      summary: 'Host names in the certificate of `tls-cert auto`, separated by commas',
      defaultText: 'those of `nameservers`',
    }),
  dnsIdentity: z
    .string({ error: 'expected a text' })
    .regex(/^[ -~]{0,200}$/, { error: 'expected at most 200 visible ASCII characters' })
    .default('')
    .register(about, {
      group: 'DNS',
      value: 'text',
      mayBeEmpty: true,
      summary:
        'Name of this server, told to whoever asks for it (NSID, `id.server` and `hostname.bind` CH TXT); empty: none',
    }),
  cookieSecret: texts('32 hexadecimal digits', (entry) => /^[0-9a-f]{32}$/i.test(entry), { atLeast: 0, hidden: true })
    .prefault('')
    .register(about, {
      group: 'DNS',
      value: 'secrets',
      secret: true,
      mayBeEmpty: true,
      summary:
        'Secret of DNS cookies, the same on all servers that share an address; further accepted secrets may follow, separated by commas',
      defaultText: 'generated at every start',
    }),
  cookiePolicy: z
    .enum(['answer', 'require'], { error: 'expected answer or require' })
    .default('answer')
    .register(about, {
      group: 'DNS',
      value: 'policy',
      summary: 'Response to a UDP client without a valid server cookie: an answer (`answer`), or BADCOOKIE (`require`)',
    }),
  dnsRateLimit: wholeNumber(0, 1_000_000, 'a number of answers').default(0).register(about, {
    group: 'DNS',
    value: 'answers',
    summary:
      'The most UDP answers a second of one kind about one name or zone to one network (/24, /56); 0: no limit; 200 suits most servers',
  }),
  dnsRateSlip: wholeNumber(0, 10, 'a number').default(2).register(about, {
    group: 'DNS',
    value: 'number',
    summary:
      'One in this many answers over the limit is truncated instead of dropped, so that real clients retry over TCP; 0: all are dropped',
  }),
  dnsRateExempt: texts('networks', isCidr, { atLeast: 0 }).prefault('127.0.0.0/8,::1/128').register(about, {
    group: 'DNS',
    value: 'networks',
    mayBeEmpty: true,
    summary: 'Networks without the limit, separated by commas',
  }),
  nameservers: texts('host names of name servers', isHostName, { atLeast: 1 })
    .transform((names) => names.map((name) => name.toLowerCase().replace(/\.$/, '')))
    .prefault('ns1.zoneplane.test,ns2.zoneplane.test')
    .register(about, {
      group: 'DNS',
      value: 'names',
      summary: 'Name servers of this service, used as NS records of new zones',
    }),
  nameserverAddresses: texts('IP addresses', isAddress, { atLeast: 0 }).optional().register(about, {
    group: 'DNS',
    value: 'addresses',
    mayBeEmpty: true,
    summary: 'Addresses of those name servers, served if a zone contains their names without addresses',
    defaultText: 'the publicly reachable ones of `dns-host`',
  }),
  transferAllow: texts('networks', isCidr, { atLeast: 0 }).prefault('').register(about, {
    group: 'DNS',
    value: 'networks',
    mayBeEmpty: true,
    summary: 'Networks that may transfer any zone without a key; empty: only the peers and ACLs of accounts may',
  }),
};
