/** The values zone settings may have, as clients send them (v4: zone settings). Pure. */
import type { SecurityHeader, ZoneSettingName, ZoneSettings } from '../../serving/zone-settings.js';

type Readers = { readonly [Name in ZoneSettingName]: (value: unknown) => ZoneSettings[Name] | undefined };

const oneOf =
  <Value extends string>(...values: readonly Value[]) =>
  (value: unknown): Value | undefined =>
    values.find((known) => known === value);

const onOff = oneOf('on', 'off');

/** Undefined for what is not a value of the setting. */
const READERS: Readers = {
  ssl: oneOf('off', 'flexible', 'full', 'strict'),
  min_tls_version: oneOf('1.0', '1.1', '1.2', '1.3'),
  tls_1_3: oneOf('on', 'off', 'zrt'),
  always_use_https: onOff,
  websockets: onOff,
  http2: onOff,
  http3: onOff,
  cache_level: oneOf('bypass', 'basic', 'simplified', 'aggressive', 'cache_everything'),
  browser_cache_ttl: readBrowserTtl,
  development_mode: onOff,
  compression: onOff,
  brotli: onOff,
  security_header: readSecurityHeader,
  origin_max_http_version: oneOf('1', '2'),
  unique_targets: onOff,
};

const ABSENT =
  '0rtt advanced_ddos always_online automatic_https_rewrites binary_ast browser_check china_network_enabled ' +
  'content_converter early_hints email_obfuscation fonts h2_prioritization hotlink_protection image_resizing ' +
  'ip_geolocation mirage nel opportunistic_encryption opportunistic_onion orange_to_orange polish pre_render ' +
  'prefetch_preload privacy_pass pseudo_ipv4 redirects_for_ai_training replace_insecure_js response_buffering ' +
  'rocket_loader search_for_agents security_level server_side_exclude sha1_support sort_query_string_for_cache ' +
  'tls_client_auth transformations true_client_ip_header waf webmcp_enabled webp';

/**
 * What v4 has and the edge does not do, with the value that is true of it: it can be read, and nothing else be set. What has no
 * such value is not a setting here.
 */
export const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ABSENT.split(' ').map((name) => [name, 'off'])),
  // Errors of origins pass as they are, and a response may take 100 s to begin.
  origin_error_page_pass_thru: 'on',
  proxy_read_timeout: '100',
};

/**
 * Values of fixed settings that ask for a protection that does not exist here. A new zone at the vendor has none of these values, so
 * clients that only repeat what they have read do not send them.
 */
const PROTECTIONS: Readonly<Record<string, readonly unknown[]>> = {
  security_level: ['high', 'under_attack'],
  ...Object.fromEntries(
    ['hotlink_protection', 'replace_insecure_js', 'tls_client_auth', 'waf'].map((name) => [name, ['on']]),
  ),
};

export function asksForProtection(name: string, value: unknown): boolean {
  return Object.hasOwn(PROTECTIONS, name) && PROTECTIONS[name]!.includes(value);
}

export const ZONE_SETTING_NAMES = Object.keys(READERS) as readonly ZoneSettingName[];

export function readSettingValue(name: ZoneSettingName, value: unknown): ZoneSettings[ZoneSettingName] | undefined {
  return READERS[name](value);
}

/** Seconds: a year, as clients offer it. */
const LONGEST_BROWSER_TTL = 31_536_000;

function readBrowserTtl(value: unknown): number | undefined {
  const isTtl = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LONGEST_BROWSER_TTL;
  return isTtl ? (value as number) : undefined;
}

/** Two years, as lists of browsers ask for. */
const LONGEST_MAX_AGE = 63_072_000;

function readSecurityHeader(value: unknown): ZoneSettings['security_header'] | undefined {
  const header = membersOf(value)?.['strict_transport_security'];
  const members = membersOf(header);
  if (!members) return undefined;
  const flags = ['enabled', 'include_subdomains', 'preload', 'nosniff'] as const;
  const { max_age: maxAge = 0, ...rest } = members;
  if (!Number.isInteger(maxAge) || (maxAge as number) < 0 || (maxAge as number) > LONGEST_MAX_AGE) return undefined;
  if (!Object.keys(rest).every((name) => flags.some((flag) => flag === name))) return undefined;
  if (!flags.every((flag) => rest[flag] === undefined || typeof rest[flag] === 'boolean')) return undefined;
  const chosen = Object.fromEntries(flags.map((flag) => [flag, rest[flag] === true])) as Record<
    (typeof flags)[number],
    boolean
  >;
  const read: SecurityHeader = { ...chosen, max_age: maxAge as number };
  return { strict_transport_security: read };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
