/** Every setting, once: validation, flags, environment names, --help and docs/reference.md all come from here. */
import { z } from 'zod';
import { parseOctets } from '../base/bytes.js';
import { reachSettings } from './allowed-networks.js';
import { AUTHORITY_NAMES, authoritySettings } from './authority-settings.js';
import { backupSettings } from './backup-settings.js';
import { balancingSettings } from './balancing-settings.js';
import { bucketSettings } from './bucket-settings.js';
import { clusterSettings } from './cluster-settings.js';
import { dnsSettings } from './dns-settings.js';
import { edgeSettings } from './edge-settings.js';
import { parseHostPort } from './host-names.js';
import { locationSettings } from './location-settings.js';
import { observeSettings } from './observe-settings.js';
import { s3Settings } from './s3-settings.js';
import { about, type SettingAbout } from './setting-about.js';
import { signInSettings } from './sign-in-settings.js';
import { isAddress, isCidr, port, text, texts, wholeNumber } from './values.js';

const MASTER_KEY_OCTETS = 32;

const isMasterKey = (entry: string): boolean => parseOctets(entry, MASTER_KEY_OCTETS) !== undefined;

/**
 * The settings for use in the program; a member's name determines flag (`--dns-port`), file key and environment
 * variable.
 */
export const settingsSchema = z.strictObject({
  dataDir: text().default('./data').register(about, {
    group: 'Data',
    value: 'dir',
    summary: 'Directory of the database; created with mode 0700 if it is missing',
  }),
  zonesDir: text().default('./zones').register(about, {
    group: 'Data',
    value: 'dir',
    summary: 'Directory of zone files that the first start of a data directory imports',
  }),
  masterKey: texts('32 octets, as 64 hexadecimal digits or in base 64', isMasterKey, { atLeast: 1, hidden: true })
    .transform((keys) => keys.map((key) => parseOctets(key, MASTER_KEY_OCTETS)!))
    .optional()
    .register(about, {
      group: 'Data',
      value: 'key',
      secret: true,
      summary:
        'Master key of secrets at rest, 32 octets in hexadecimal or base 64; older keys may follow, separated by commas',
      defaultText: 'generated, in `master.key` in the data directory',
    }),

  ...dnsSettings,
  adminHost: text()
    .refine(isAddress, { error: 'expected an IP address' })
    .default('127.0.0.1')
    .register(about, { group: 'Admin API', value: 'address', summary: 'Address on which the admin API listens' }),
  adminPort: port().default(8053).register(about, {
    group: 'Admin API',
    value: 'port',
    summary: 'Port of the admin API; its base paths are `/client/v4` and `/v4`',
  }),
  adminTlsPort: port().optional().register(about, {
    group: 'Admin API',
    value: 'port',
    summary: 'Port of the admin API over HTTPS, in addition to the plain one; needs `tls-cert`',
    defaultText: 'off',
  }),
  trustProxies: texts('networks', isCidr, { atLeast: 0 }).prefault('').register(about, {
    group: 'Admin API',
    value: 'networks',
    mayBeEmpty: true,
    summary:
      'Networks of proxies in front of the admin API and the bucket application: their `Forwarded` or `X-Forwarded-For` names the client; empty: these headers are ignored',
  }),
  metricsPublic: z.enum(['on', 'off'], { error: 'expected on or off' }).default('off').register(about, {
    group: 'Admin API',
    value: 'mode',
    summary:
      '`on`: everybody may read `/metrics` of the admin API; `off`: it takes a credential, but for requests from this machine that came through no proxy',
  }),
  recordsPerZone: wholeNumber(0, 100_000_000, 'a number of records').default(0).register(about, {
    group: 'Admin API',
    value: 'records',
    summary: 'The most records in a zone; 0: no limit',
  }),
  adminRateLimit: wholeNumber(0, 1_000_000_000, 'a number of requests').default(12_000).register(about, {
    group: 'Admin API',
    value: 'requests',
    summary:
      'The most requests of a token in five minutes, four times as many of an account; further ones get 429; 0: no limit; administrators have none',
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
    .regex(/^[0-9a-zA-Z_-]{37,200}$/, { error: 'expected 37 to 200 characters from 0-9 a-z A-Z _ -' })
    .optional()
    .register(about, {
      group: 'Admin API',
      value: 'key',
      secret: true,
      summary: 'Key of the first administrator, for `X-Auth-Key` and as Bearer token',
      defaultText: 'generated; shown once on a terminal, otherwise written to `initial-key` in the data directory',
    }),

  resolverUpstreams: texts('resolvers as host:port', (entry) => parseHostPort(entry) !== undefined, { atLeast: 0 })
    .transform((entries) => entries.map((entry) => parseHostPort(entry)!))
    .optional()
    .register(about, {
      group: 'Outside world',
      value: 'resolvers',
      mayBeEmpty: true,
      summary: 'Resolvers for names outside this server, as `host:port`, separated by commas; empty: none',
      defaultText: 'resolvers of the system',
    }),
  allowNetworks: reachSettings.allowNetworks,
  flattenPrivate: z.enum(['allow', 'refuse'], { error: 'expected allow or refuse' }).default('allow').register(about, {
    group: 'Outside world',
    value: 'mode',
    summary: 'Private addresses in answers for flattened names: `allow`, or `refuse` (against DNS rebinding)',
  }),
  zoneActivation: z
    .enum(['auto', 'trust', 'delegation'], { error: 'expected auto, trust or delegation' })
    .default('auto')
    .register(about, {
      group: 'Outside world',
      value: 'mode',
      summary:
        'When new zones become active: at once (`trust`), when it is proven whose their names are (`delegation`), or at once while there is one account and when proven from the second account on (`auto`)',
    }),
  privateSuffixes: z
    .enum(['allow', 'refuse'], { error: 'expected allow or refuse' })
    .default('refuse')
    .register(about, {
      group: 'Outside world',
      value: 'mode',
      summary:
        'Zones for suffixes run by companies, such as `github.io`: all users may add them (`allow`), or only administrators (`refuse`), as for `com` and `co.uk`',
    }),

  ...clusterSettings,
  ...backupSettings,

  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'expected trace, debug, info, warn, error, fatal or silent',
    })
    .default('info')
    .register(about, {
      group: 'Log',
      value: 'level',
      summary: 'Lowest logged severity; lines are JSON unless standard output is a terminal',
    }),

  ...bucketSettings,
  ...s3Settings,
  ...balancingSettings,

  ...signInSettings,
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
        'Certificate authorities in order of preference; the next one is used only if CAA records forbid the previous one',
    }),
  ...authoritySettings,
  caBundle: text().optional().register(about, {
    group: 'Certificates',
    value: 'file',
    summary: 'Further trusted root certificates for connections to certificate authorities, PEM',
    defaultText: 'none',
  }),
  ...edgeSettings,
  edgeAllowOriginCidrs: reachSettings.edgeAllowOriginCidrs,
  ...locationSettings,
  ...observeSettings,
});

/** All validated settings, including defaults. */
export type Settings = z.output<typeof settingsSchema>;
export type SettingKey = keyof Settings;

export interface Setting extends SettingAbout {
  readonly key: SettingKey;
  /** Name in configuration files; the flag has `--` before it. */
  readonly name: string;
  readonly environment: string;
  readonly schema: z.ZodType;
}

/** The settings in the order of the documentation. */
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
