/** What a client asks for in `ssl`, brought into one form (v4: §10.2). Pure. */
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
export interface SslConfiguration {
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
  readonly configuration: SslConfiguration;
  /** Empty: one is asked for from an authority. */
  readonly brought: readonly BroughtCertificate[];
}

/** A member that is null or absent says nothing. */
type Maybe<Value> = Value | null | undefined;

export interface BroughtInput {
  readonly custom_certificate?: Maybe<string>;
  readonly custom_key?: Maybe<string>;
}

/** `ssl` as a client sends it. */
export interface SslBody extends BroughtInput {
  readonly method?: Maybe<'http' | 'txt'>;
  readonly type?: 'dv' | undefined;
  readonly certificate_authority?: Maybe<AuthorityName | ''>;
  readonly wildcard?: Maybe<boolean>;
  readonly bundle_method?: Maybe<BundleMethod | ''>;
  readonly settings?: Maybe<{ readonly [Name in keyof SslSettings]?: Maybe<SslSettings[Name]> }>;
  readonly custom_csr_id?: Maybe<string>;
  readonly custom_cert_bundle?: Maybe<readonly BroughtInput[]>;
}

/** `before`: what an edit leaves as it is. Throws 1427 to 1448 for what does not go together. */
export function parseSsl(
  input: SslBody,
  hostname: string,
  { isEdit, before }: { readonly isEdit: boolean; readonly before?: SslConfiguration | undefined },
): SslInput {
  if (isEdit && (input.method === undefined || input.type === undefined)) {
    throw hostnameFailure('methodAndType', {}, { pointer: '/ssl' });
  }
  // There is no way to make one here, so there is none.
  if (input.custom_csr_id) throw hostnameFailure('csrMissing', {}, { pointer: '/ssl/custom_csr_id' });
  const wildcard = input.wildcard ?? before?.wildcard ?? false;
  if (wildcard && hostname.startsWith('*.')) throw hostnameFailure('wildcardTwice', {}, { pointer: '/ssl/wildcard' });
  const configuration: SslConfiguration = {
    method: methodOf(input.method, wildcard || hostname.startsWith('*.')),
    type: 'dv',
    authority: input.certificate_authority ?? before?.authority ?? '',
    wildcard,
    bundleMethod: (input.bundle_method || before?.bundleMethod) ?? 'ubiquitous',
    settings: settingsOf(input.settings ?? {}, before?.settings ?? {}),
  };
  return { configuration, brought: broughtOf(input) };
}

/** A wildcard can be validated by DNS only (RFC 8555 §8.3). */
function methodOf(method: SslBody['method'], wildcard: boolean): 'http' | 'txt' {
  if (method === 'http' && wildcard) {
    const reason = 'a wildcard can only be validated with txt';
    throw hostnameFailure('badMethod', { reason }, { pointer: '/ssl/method' });
  }
  return method ?? (wildcard ? 'txt' : 'http');
}

function settingsOf(sent: NonNullable<SslBody['settings']>, before: SslSettings): SslSettings {
  const said = Object.entries(sent).filter(([, value]) => value !== null && value !== undefined);
  const settings: SslSettings = { ...before, ...Object.fromEntries(said) };
  if (settings.min_tls_version === '1.3' && (settings.ciphers?.length ?? 0) > 0) {
    throw hostnameFailure('ciphersWithTls13', {}, { pointer: '/ssl/settings/ciphers' });
  }
  return settings;
}

function broughtOf(input: SslBody): readonly BroughtCertificate[] {
  const bundle = input.custom_cert_bundle ?? undefined;
  if (bundle === undefined) return pairOf(input, '/ssl');
  return bundle.flatMap((item, i) => {
    const at = `/ssl/custom_cert_bundle/${i}`;
    const pair = pairOf(item, at);
    if (pair.length === 0) throw hostnameFailure('certificateMissing', {}, { pointer: at });
    return pair;
  });
}

/** A certificate and its key, or nothing. */
export function pairOf(
  { custom_certificate: certificate, custom_key: key }: BroughtInput,
  at: string,
): readonly BroughtCertificate[] {
  if (!certificate && !key) return [];
  if (!certificate) throw hostnameFailure('certificateMissing', {}, { pointer: `${at}/custom_certificate` });
  if (!key) throw hostnameFailure('keyMissing', {}, { pointer: `${at}/custom_key` });
  return [{ certificate, key }];
}
