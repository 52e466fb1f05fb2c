/** The settings of a zone that decide how the edge serves it: names, values and defaults in one place. */
import type { Store } from '../store/driver.js';
import { zoneSettingRows } from '../store/zones/settings.js';
import type { ZoneRow } from '../store/zones/zones.js';

/**
 * How the edge connects to origins. `full`: as the client does, without verification. `strict`: the same with a
 * verified certificate.
 */
export type OriginTls = 'off' | 'flexible' | 'full' | 'strict';
export type TlsVersion = '1.0' | '1.1' | '1.2' | '1.3';
type Switch = 'on' | 'off';

/** Strict-Transport-Security (RFC 6797). */
export interface SecurityHeader {
  readonly enabled: boolean;
  /** Seconds. */
  readonly max_age: number;
  readonly include_subdomains: boolean;
  readonly preload: boolean;
  /** Whether `X-Content-Type-Options: nosniff` is added. */
  readonly nosniff: boolean;
}

/** By the names that clients use (v4: zone settings). */
export interface ZoneSettings {
  readonly ssl: OriginTls;
  readonly min_tls_version: TlsVersion;
  /** `zrt` is the clients' name for 1.3 with early data; early data is not supported. */
  readonly tls_1_3: Switch | 'zrt';
  readonly always_use_https: Switch;
  readonly websockets: Switch;
  readonly http2: Switch;
  readonly http3: Switch;
  /**
   * `aggressive`: static files by their extension. `basic`: those without a query. `simplified`: those, whatever their query.
   * `cache_everything`: all that HTTP lets caches store. `bypass`: nothing.
   */
  readonly cache_level: 'bypass' | 'basic' | 'simplified' | 'aggressive' | 'cache_everything';
  /** Seconds that browsers keep what the cache may store, at least; 0: as the origin says. */
  readonly browser_cache_ttl: number;
  /** Whether the cache is left out. */
  readonly development_mode: Switch;
  /** Whether the edge compresses responses (ours), and whether also with Brotli. */
  readonly compression: Switch;
  readonly brotli: Switch;
  readonly security_header: { readonly strict_transport_security: SecurityHeader };
  readonly origin_max_http_version: '1' | '2';
  /** Each custom hostname must lead to its own name (ours). */
  readonly unique_targets: Switch;
}

export type ZoneSettingName = keyof ZoneSettings;

/** Settings that are columns of the zone, because they also affect other parts than the edge. */
export const SETTINGS_IN_COLUMNS = ['http2', 'http3', 'unique_targets'] as const satisfies readonly ZoneSettingName[];

export const DEFAULT_ZONE_SETTINGS: ZoneSettings = {
  ssl: 'full',
  min_tls_version: '1.2',
  tls_1_3: 'on',
  always_use_https: 'off',
  websockets: 'on',
  http2: 'on',
  http3: 'on',
  cache_level: 'aggressive',
  browser_cache_ttl: 0,
  development_mode: 'off',
  compression: 'on',
  brotli: 'on',
  security_header: {
    strict_transport_security: {
      enabled: false,
      max_age: 0,
      include_subdomains: false,
      preload: false,
      nosniff: false,
    },
  },
  origin_max_http_version: '1',
  unique_targets: 'off',
};

/** A zone's settings, with defaults for those that are not set. */
export function zoneSettings(store: Store, zone: ZoneRow): ZoneSettings {
  const rows = zoneSettingRows(store, zone.seq).map(({ name, value }) => [name, JSON.parse(value)] as const);
  return {
    ...DEFAULT_ZONE_SETTINGS,
    ...(Object.fromEntries(rows) as Partial<ZoneSettings>),
    http2: zone.http2 === 1 ? 'on' : 'off',
    http3: zone.http3 === 1 ? 'on' : 'off',
    unique_targets: zone.unique_targets === 1 ? 'on' : 'off',
  };
}
