/** Every setting, once: validation, flags, environment names, --help and the README's reference all come from here. */
import { z } from 'zod';
import { parseOctets } from '../base/bytes.js';
import { parseCidrSet, parseIP } from '../base/ip.js';
import { AUTHORITY_NAMES, authoritySettings } from './authority-settings.js';
import { about, type SettingAbout } from './setting-about.js';
import { port, text, texts, wholeNumber } from './values.js';

/** A host (name or address) and a port, of an upstream resolver. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const NO_EDGE = 'this version has no edge';

const MASTER_KEY_OCTETS = 32;

const isMasterKey = (entry: string): boolean => parseOctets(entry, MASTER_KEY_OCTETS) !== undefined;

const isAddress = (entry: string): boolean => parseIP(entry) !== undefined;

function isCidr(entry: string): boolean {
  try {
    parseCidrSet([entry]);
    return true;
  } catch {
    return false;
  }
}

/** Host names of letters, digits and hyphens (RFC 1123 §2.1), as name servers must be. */
function isHostName(entry: string): boolean {
  const name = entry.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/** `host`, `host:port`, `[IPv6]:port` or a bare IPv6 address; port 53 unless given. Undefined when it is none of these. */
export function parseHostPort(entry: string): HostPort | undefined {
  if (parseIP(entry)) return { host: entry, port: 53 };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry);
  if (!match) return undefined;
  const host = match[1] ?? match[2]!;
  const portNumber = match[3] === undefined ? 53 : Number(match[3]);
  if (portNumber < 1 || portNumber > 65535) return undefined;
  if (match[1] !== undefined ? !parseIP(host) : !isAddress(host) && !isHostName(host)) return undefined;
  return { host, port: portNumber };
}

export function printHostPort(address: HostPort): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** The settings as a program uses them; a member's name gives flag (`--dns-port`), file key and environment variable. */
export const settingsSchema = z.strictObject({
  dataDir: text().default('./data').register(about, {
    group: 'Data',
    value: 'dir',
    summary: 'Directory of the database; created with mode 0700 if it is missing',
  }),
  zonesDir: text().default('./zones').register(about, {
    group: 'Data',
    value: 'dir',
    summary: 'Zone files imported at the very first start of a data directory',
  }),
  masterKey: texts('32 octets, as 64 hexadecimal digits or in base 64', isMasterKey, { atLeast: 1, hidden: true })
    .transform((keys) => keys.map((key) => parseOctets(key, MASTER_KEY_OCTETS)!))
    .optional()
    .register(about, {
      group: 'Data',
      value: 'key',
      secret: true,
      summary: 'Master key of secrets at rest, 32 octets in hexadecimal or base 64; after a comma, older ones',
      defaultText: 'generated, in `master.key` in the data directory',
    }),

  dnsHost: texts('IP addresses', isAddress, { atLeast: 1 }).prefault('0.0.0.0,::').register(about, {
    group: 'DNS',
    value: 'addresses',
    summary: 'Addresses the DNS server listens on, separated by commas',
  }),
  dnsPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of the DNS server, UDP and TCP',
    defaultText: '53, or 1053 where 53 cannot be bound',
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
      summary: 'How UDP is served: `batched` (many packets a system call, Linux), `portable`, or `auto`',
    }),
  dotPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of DNS over TLS, on the same addresses; needs `tls-cert` and `tls-key`',
    defaultText: 'off',
  }),
  dohPort: port().optional().register(about, {
    group: 'DNS',
    value: 'port',
    summary: 'Port of DNS over HTTPS at `/dns-query`, on the same addresses; needs `tls-cert` and `tls-key`',
    defaultText: 'off',
  }),
  tlsCert: text().optional().register(about, {
    group: 'DNS',
    value: 'file',
    summary:
      'Certificate chain of DNS over TLS and HTTPS and of the admin API over HTTPS, PEM; read again when it changes',
    defaultText: 'none',
  }),
  tlsKey: text().optional().register(about, {
    group: 'DNS',
    value: 'file',
    summary: 'Private key of that certificate, PEM',
    defaultText: 'none',
  }),
  cookieSecret: texts('32 hexadecimal digits', (entry) => /^[0-9a-f]{32}$/i.test(entry), { atLeast: 0, hidden: true })
    .prefault('')
    .register(about, {
      group: 'DNS',
      value: 'secrets',
      secret: true,
      mayBeEmpty: true,
      summary:
        'Secret of DNS cookies, the same on all servers that share an address; further secrets, after commas, are accepted too',
      defaultText: 'made anew at every start',
    }),
  cookiePolicy: z
    .enum(['answer', 'require'], { error: 'expected answer or require' })
    .default('answer')
    .register(about, {
      group: 'DNS',
      value: 'policy',
      summary:
        'What a client gets whose cookie over UDP is not from this server: an answer (`answer`), or BADCOOKIE (`require`)',
    }),
  dnsRateLimit: wholeNumber(0, 1_000_000, 'a number of answers').default(0).register(about, {
    group: 'DNS',
    value: 'answers',
    summary:
      'Limit of answers a second over UDP to one network (/24, /56), of one kind, about one name or zone; 0: no limit; 200 suits most servers',
  }),
  dnsRateSlip: wholeNumber(0, 10, 'a number').default(2).register(about, {
    group: 'DNS',
    value: 'number',
    summary:
      'One of this many answers over the limit is sent truncated, so that real clients come back over TCP; 0: all are dropped',
  }),
  dnsRateExempt: texts('networks', isCidr, { atLeast: 0 }).prefault('127.0.0.0/8,::1/128').register(about, {
    group: 'DNS',
    value: 'networks',
    mayBeEmpty: true,
    summary: 'Networks that are not limited, separated by commas',
  }),
  nameservers: texts('host names of name servers', isHostName, { atLeast: 1 })
    .transform((names) => names.map((name) => name.toLowerCase().replace(/\.$/, '')))
    .prefault('ns1.zoneplane.test,ns2.zoneplane.test')
    .register(about, {
      group: 'DNS',
      value: 'names',
      summary: 'Name servers of this service: the NS records of new zones',
    }),
  nameserverAddresses: texts('IP addresses', isAddress, { atLeast: 0 }).optional().register(about, {
    group: 'DNS',
    value: 'addresses',
    mayBeEmpty: true,
    summary: 'Addresses of those name servers, served where a zone holds their names but no addresses for them',
    defaultText: 'those of `dns-host` that others can reach',
  }),
  edgeAddresses: texts('IP addresses', isAddress, { atLeast: 1 }).prefault('127.0.0.1,::1').register(about, {
    group: 'DNS',
    value: 'addresses',
    summary: 'Addresses that proxied names answer with',
  }),

  adminHost: text()
    .refine(isAddress, { error: 'expected an IP address' })
    .default('127.0.0.1')
    .register(about, { group: 'Admin API', value: 'address', summary: 'Address the admin API listens on' }),
  adminPort: port().default(8053).register(about, {
    group: 'Admin API',
    value: 'port',
    summary: 'Port of the admin API; its base paths are `/client/v4` and `/v4`',
  }),
  adminTlsPort: port().optional().register(about, {
    group: 'Admin API',
    value: 'port',
    summary: 'Port of the admin API over HTTPS, in addition to the plain one; needs `tls-cert` and `tls-key`',
    defaultText: 'off',
  }),
  recordsPerZone: wholeNumber(0, 100_000_000, 'a number of records').default(0).register(about, {
    group: 'Admin API',
    value: 'records',
    summary: 'The most records a zone may hold; 0: no limit',
  }),
  adminRateLimit: wholeNumber(0, 1_000_000_000, 'a number of requests').default(0).register(about, {
    group: 'Admin API',
    value: 'requests',
    summary: 'The most requests a user may send in five minutes; more get 429; 0: no limit',
  }),
  adminEmail: text()
    .regex(/^[^\s@,]{1,64}@[^\s@,]{1,190}$/, { error: 'expected an e-mail address' })
    .default('admin@localhost')
    .register(about, {
      group: 'Admin API',
      value: 'address',
      summary: 'E-mail address of the first administrator (`X-Auth-Email`)',
    }),
  adminKey: z
    .string({ error: 'expected a text' })
    .regex(/^[0-9a-zA-Z_-]{37,200}$/, { error: 'expected 37 to 200 characters out of 0-9 a-z A-Z _ -' })
    .optional()
    .register(about, {
      group: 'Admin API',
      value: 'key',
      secret: true,
      summary: 'Key of the first administrator, for `X-Auth-Key` and as Bearer token',
      defaultText: 'generated; shown once on a terminal, else written to `initial-key` in the data directory',
    }),

  resolverUpstreams: texts('resolvers as host:port', (entry) => parseHostPort(entry) !== undefined, { atLeast: 0 })
    .transform((entries) => entries.map((entry) => parseHostPort(entry)!))
    .optional()
    .register(about, {
      group: 'Outside world',
      value: 'resolvers',
      mayBeEmpty: true,
      summary: 'Resolvers asked about names of the outside world, as `host:port`, separated by commas; empty: none',
      defaultText: 'those of the system',
    }),
  flattenPrivate: z.enum(['allow', 'refuse'], { error: 'expected allow or refuse' }).default('allow').register(about, {
    group: 'Outside world',
    value: 'mode',
    summary: 'Whether flattened names may answer private addresses: `allow`, or `refuse` (against DNS rebinding)',
  }),
  zoneActivation: z
    .enum(['trust', 'delegation'], { error: 'expected trust or delegation' })
    .default('trust')
    .register(about, {
      group: 'Outside world',
      value: 'mode',
      summary: 'New zones are active at once (`trust`), or when the parent delegates to `nameservers` (`delegation`)',
    }),

  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'expected trace, debug, info, warn, error, fatal or silent',
    })
    .default('info')
    .register(about, {
      group: 'Log',
      value: 'level',
      summary: 'Lowest severity that is logged; lines are JSON unless standard output is a terminal',
    }),

  bucketHost: text().refine(isAddress, { error: 'expected an IP address' }).default('127.0.0.1').register(about, {
    group: 'Bucket application',
    value: 'address',
    summary: 'Address the bucket application listens on',
  }),
  bucketPort: port()
    .default(8054)
    .register(about, { group: 'Bucket application', value: 'port', summary: 'Port of the bucket application' }),
  authKeySecret: text().optional().register(about, {
    group: 'Bucket application',
    value: 'secret',
    secret: true,
    environment: 'AUTH_KEY_SECRET',
    summary: 'Pre-shared secret that the header `X-Custom-Auth-Key` of a PUT or DELETE must carry',
    defaultText: 'that of `zoneplane secret put`; without any, every write is refused',
  }),
  bucketAllowList: texts('object keys', (entry) => entry !== '', { atLeast: 0 })
    .prefault('')
    .register(about, {
      group: 'Bucket application',
      value: 'keys',
      mayBeEmpty: true,
      summary: 'Object keys that anybody may GET, separated by commas',
    }),
  bucketObjectLimit: wholeNumber(0, Number.MAX_SAFE_INTEGER, 'octets')
    .default(100 * 1024 * 1024)
    .register(about, {
      group: 'Bucket application',
      value: 'octets',
      summary: 'Largest object that is accepted, in octets',
    }),
  defaultCaOrder: texts(
    `names of certificate authorities (${AUTHORITY_NAMES.join(', ')})`,
    (entry) => AUTHORITY_NAMES.some((name) => name === entry),
    { atLeast: 1 },
  )
    .prefault('google,lets_encrypt')
    .register(about, {
      group: 'Certificates',
      value: 'names',
      summary:
        'Certificate authorities in the order they are tried, from one to the next only where CAA records forbid',
    }),
  ...authoritySettings,
  caBundle: text().optional().register(about, {
    group: 'Certificates',
    value: 'file',
    summary: 'Further root certificates trusted when certificate authorities are contacted, PEM',
    defaultText: 'none',
  }),

  edgeHttpPort: port()
    .default(8080)
    .register(about, { group: 'Later', value: 'port', summary: 'HTTP port of the edge', inert: NO_EDGE }),
  edgeHttpsPort: port()
    .default(8443)
    .register(about, { group: 'Later', value: 'port', summary: 'HTTPS port of the edge', inert: NO_EDGE }),
  edgeAllowOriginCidrs: texts('networks', isCidr, { atLeast: 0 }).prefault('').register(about, {
    group: 'Later',
    value: 'networks',
    mayBeEmpty: true,
    summary: 'Origins the edge may reach beside public addresses',
    inert: NO_EDGE,
  }),
});

/** All settings, validated, with defaults filled in. */
export type Settings = z.output<typeof settingsSchema>;
export type SettingKey = keyof Settings;

export interface Setting extends SettingAbout {
  readonly key: SettingKey;
  /** Name in configuration files; with `--` in front, the flag. */
  readonly name: string;
  readonly environment: string;
  readonly schema: z.ZodType;
}

/** The settings in the order they are documented. */
export const SETTINGS: readonly Setting[] = Object.entries(settingsSchema.shape).map(([key, schema]) => {
  const description = about.get(schema as never);
  if (!description) throw new Error(`setting ${key} lacks its description`);
  const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    environment: `ZONEPLANE_${name.toUpperCase().replaceAll('-', '_')}`,
    ...description,
    key: key as SettingKey,
    name,
    schema: schema as z.ZodType,
  };
});
