/** What a client asks for in `ssl`, checked and brought into one form (v4: §10.2). Pure. */
import type { AuthorityName } from '../certs/authority.js';
import type { BundleMethod } from '../certs/upload.js';
import { hostnameFailure } from './errors.js';

export interface SslSettings {
  readonly http2?: 'on' | 'off';
  readonly tls_1_3?: 'on' | 'off';
  readonly tls_1_2_only?: 'on' | 'off';
  readonly early_hints?: 'on' | 'off';
  readonly min_tls_version?: '1.0' | '1.1' | '1.2' | '1.3';
  readonly ciphers?: readonly string[];
}

/** What was asked for, as it is kept. */
export interface SslWish {
  readonly method: 'http' | 'txt';
  readonly type: 'dv';
  /** Empty: whichever authority CAA permits, in the order of this service. */
  readonly authority: AuthorityName | '';
  /** Whether all names one label below are covered as well. */
  readonly wildcard: boolean;
  readonly bundleMethod: BundleMethod;
  readonly settings: SslSettings;
}

/** A certificate and its key that a customer brings. PEM. */
export interface BroughtCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface SslInput {
  readonly wish: SslWish;
  /** Empty: one is asked for from an authority. */
  readonly brought: readonly BroughtCertificate[];
}

type Body = Readonly<Record<string, unknown>>;

const AUTHORITIES = ['google', 'lets_encrypt', 'ssl_com', 'digicert'] as const satisfies readonly AuthorityName[];
const BUNDLE_METHODS = ['ubiquitous', 'optimal', 'force'] as const;
const TLS_VERSIONS = ['1.0', '1.1', '1.2', '1.3'] as const;
/** Of cipher suites, as OpenSSL and BoringSSL name them. */
const CIPHER = /^[A-Z0-9_-]{3,64}$/;
const MOST_CIPHERS = 64;

/** `before`: what an edit leaves as it is. Throws 1422 to 1449. */
export function parseSsl(
  input: unknown,
  hostname: string,
  { isEdit, before }: { readonly isEdit: boolean; readonly before?: SslWish | undefined },
): SslInput {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw hostnameFailure('badSsl', { name: '', expected: 'an object' }, { pointer: '/ssl' });
  }
  const body = input as Body;
  if (isEdit && (body['method'] === undefined || body['type'] === undefined)) {
    throw hostnameFailure('methodAndType', {}, { pointer: '/ssl' });
  }
  requireType(body['type']);
  refuseCsr(body['custom_csr_id']);
  flagOf(body, 'cloudflare_branding');
  const wildcard = flagOf(body, 'wildcard') ?? before?.wildcard ?? false;
  if (wildcard && hostname.startsWith('*.')) throw hostnameFailure('wildcardTwice', {}, { pointer: '/ssl/wildcard' });
  const wish: SslWish = {
    method: methodOf(body['method'], wildcard || hostname.startsWith('*.')),
    type: 'dv',
    authority: authorityOf(body['certificate_authority']) ?? before?.authority ?? '',
    wildcard,
    bundleMethod: bundleMethodOf(body['bundle_method']) ?? before?.bundleMethod ?? 'ubiquitous',
    settings: settingsOf(body['settings'], before?.settings ?? {}),
  };
  return { wish, brought: broughtOf(body) };
}

function requireType(type: unknown): void {
  if (type !== undefined && type !== 'dv') throw hostnameFailure('badType', {}, { pointer: '/ssl/type' });
}

/** There is no way to make one here, so there is none. */
function refuseCsr(id: unknown): void {
  if (id === undefined || id === null || id === '') return;
  throw hostnameFailure(typeof id === 'string' ? 'csrMissing' : 'badCsr', {}, { pointer: '/ssl/custom_csr_id' });
}

function flagOf(body: Body, name: string): boolean | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  throw hostnameFailure('badSsl', { name, expected: 'true or false' }, { pointer: `/ssl/${name}` });
}

/** A wildcard can be validated by DNS only (RFC 8555 §8.3). */
function methodOf(method: unknown, wildcard: boolean): 'http' | 'txt' {
  const refuse = (reason: string): Error => hostnameFailure('badMethod', { reason }, { pointer: '/ssl/method' });
  if (method === undefined || method === null) return wildcard ? 'txt' : 'http';
  if (method === 'email') throw refuse('authorities no longer validate by email; use http or txt');
  if (method !== 'http' && method !== 'txt') throw refuse('expected http or txt');
  if (method === 'http' && wildcard) throw refuse('a wildcard can only be validated with txt');
  return method;
}

function authorityOf(name: unknown): AuthorityName | '' | undefined {
  if (name === undefined || name === null) return undefined;
  if (name === '') return '';
  const authority = AUTHORITIES.find((known) => known === name);
  if (authority) return authority;
  const options = { pointer: '/ssl/certificate_authority' };
  const expected = `empty or one of ${AUTHORITIES.join(', ')}`;
  throw hostnameFailure('badSsl', { name: 'certificate_authority', expected }, options);
}

function bundleMethodOf(method: unknown): BundleMethod | undefined {
  if (method === undefined || method === null || method === '') return undefined;
  const known = BUNDLE_METHODS.find((candidate) => candidate === method);
  if (!known) throw hostnameFailure('badBundleMethod', {}, { pointer: '/ssl/bundle_method' });
  return known;
}

function settingsOf(input: unknown, before: SslSettings): SslSettings {
  if (input === undefined || input === null) return before;
  if (typeof input !== 'object' || Array.isArray(input)) {
    throw hostnameFailure('badSsl', { name: 'settings', expected: 'an object' }, { pointer: '/ssl/settings' });
  }
  const body = input as Body;
  const settings: SslSettings = {
    ...before,
    ...switchOf(body, 'http2', 'badHttp2'),
    ...switchOf(body, 'early_hints', 'badHttp2'),
    ...switchOf(body, 'tls_1_2_only', 'badTls12Only'),
    ...switchOf(body, 'tls_1_3', 'badTls13'),
    ...minimumOf(body['min_tls_version']),
    ...ciphersOf(body['ciphers']),
  };
  if (settings.min_tls_version === '1.3' && (settings.ciphers?.length ?? 0) > 0) {
    throw hostnameFailure('ciphersWithTls13', {}, { pointer: '/ssl/settings/ciphers' });
  }
  return settings;
}

function switchOf(
  body: Body,
  name: 'http2' | 'early_hints' | 'tls_1_2_only' | 'tls_1_3',
  fault: 'badHttp2' | 'badTls12Only' | 'badTls13',
): SslSettings {
  const value = body[name];
  if (value === undefined || value === null) return {};
  if (value === 'on' || value === 'off') return { [name]: value };
  throw hostnameFailure(fault, { name }, { pointer: `/ssl/settings/${name}` });
}

function minimumOf(version: unknown): SslSettings {
  if (version === undefined || version === null) return {};
  const known = TLS_VERSIONS.find((candidate) => candidate === version);
  if (!known) throw hostnameFailure('badMinimumTls', {}, { pointer: '/ssl/settings/min_tls_version' });
  return { min_tls_version: known };
}

function ciphersOf(ciphers: unknown): SslSettings {
  if (ciphers === undefined || ciphers === null) return {};
  const refuse = (reason: string): Error =>
    hostnameFailure('badCiphers', { reason }, { pointer: '/ssl/settings/ciphers' });
  if (!Array.isArray(ciphers)) throw refuse('expected a list of cipher suites');
  if (ciphers.length > MOST_CIPHERS) throw refuse(`${MOST_CIPHERS} cipher suites may be named at most`);
  if (!ciphers.every((cipher) => typeof cipher === 'string' && CIPHER.test(cipher))) {
    throw refuse('a name is not that of a cipher suite');
  }
  return { ciphers: ciphers as string[] };
}

function broughtOf(body: Body): readonly BroughtCertificate[] {
  const bundle = body['custom_cert_bundle'];
  if (bundle === undefined || bundle === null) return pairOf(body, '/ssl');
  if (!Array.isArray(bundle) || bundle.length < 1 || bundle.length > 2) {
    const expected = 'a list of one or two certificates';
    throw hostnameFailure('badSsl', { name: 'custom_cert_bundle', expected }, { pointer: '/ssl/custom_cert_bundle' });
  }
  return bundle.flatMap((item: unknown, i) => {
    const at = `/ssl/custom_cert_bundle/${i}`;
    const isObject = typeof item === 'object' && item !== null;
    const pair = isObject ? pairOf(item as Body, at) : [];
    if (pair.length === 0) throw hostnameFailure('certificateMissing', {}, { pointer: at });
    return pair;
  });
}

/** A certificate and its key, or nothing. */
function pairOf(body: Body, at: string): readonly BroughtCertificate[] {
  const { custom_certificate: certificate, custom_key: key } = body;
  const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';
  if (isAbsent(certificate) && isAbsent(key)) return [];
  if (isAbsent(certificate)) throw hostnameFailure('certificateMissing', {}, { pointer: `${at}/custom_certificate` });
  if (isAbsent(key)) throw hostnameFailure('keyMissing', {}, { pointer: `${at}/custom_key` });
  if (typeof certificate !== 'string') {
    throw hostnameFailure('badCertificate', { reason: 'It must be a text.' }, { pointer: `${at}/custom_certificate` });
  }
  if (typeof key !== 'string') {
    throw hostnameFailure('badKey', { reason: 'It must be a text.' }, { pointer: `${at}/custom_key` });
  }
  return [{ certificate, key }];
}
