/** Derives TLS parameters from the settings of a zone and of a custom hostname. Pure. */
import { DEFAULT_CIPHERS, type SecureVersion } from 'node:tls';
import { DEFAULT_ZONE_SETTINGS } from '../../serving/zone-settings.js';
import type { Route } from './find-route.js';

export interface TlsPolicy {
  readonly minVersion: SecureVersion;
  readonly maxVersion: SecureVersion;
  /** In OpenSSL's form, in order of preference. */
  readonly ciphers: string;
  /** For ALPN (RFC 7301), in order of preference. */
  readonly protocols: readonly string[];
}

/**
 * TLS 1.3 has its own suites, which lists for older versions do not contain. The first one, which all must have (RFC 8446 §9.1), takes a
 * tenth less time for a handshake than the one of 256 bits.
 */
const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

const OLDER_SUITES = DEFAULT_CIPHERS.split(':').filter((suite) => !TLS13_SUITES.includes(suite));
const DEFAULT_SUITES = [...TLS13_SUITES, ...OLDER_SUITES].join(':');

/**
 * The suites of TLS 1.2 to which a host may be limited, as OpenSSL and BoringSSL name them. With a name that OpenSSL does not
 * know, and no other, no connection would be possible; its words for groups of suites include some without encryption.
 */
export const CIPHER_SUITES = [
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ...['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ...['ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ...['ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA384', 'ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES256-SHA'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'AES128-SHA256', 'AES256-SHA256', 'AES128-SHA', 'AES256-SHA'],
] as const;

/**
 * `owner`: the owner of the certificate. Settings of a custom hostname take precedence over those of its zone. TLS 1.0 and 1.1 are
 * never enabled (RFC 8996). If the minimum is 1.3, TLS 1.3 is enabled.
 */
export function policyOf({ holders, settings = DEFAULT_ZONE_SETTINGS }: Route, owner: string): TlsPolicy {
  const own = holders.find(({ kind, id }) => `${kind}:${id}` === owner)?.tls ?? {};
  const minimum = own.min_tls_version ?? settings.min_tls_version;
  const onlyNew = minimum === '1.3';
  const newest = (own.tls_1_3 ?? settings.tls_1_3) !== 'off' && own.tls_1_2_only !== 'on';
  return {
    minVersion: onlyNew ? 'TLSv1.3' : 'TLSv1.2',
    maxVersion: newest || onlyNew ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: own.ciphers && own.ciphers.length > 0 ? [...TLS13_SUITES, ...own.ciphers].join(':') : DEFAULT_SUITES,
    protocols: (own.http2 ?? settings.http2) === 'on' ? ['h2', 'http/1.1'] : ['http/1.1'],
  };
}
