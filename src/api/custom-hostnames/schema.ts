/** Shapes of custom hostnames on the wire (v4: §10). */
import { z } from 'zod';
import type { AppError } from '../../base/errors.js';
import { AUTHORITY_NAMES } from '../../certs/authority.js';
import { ISSUED_BY } from '../../certs/certificate-state.js';
import { hostnameFailure } from '../../hostnames/errors.js';
import { CIPHER_SUITES } from '../../hostnames/routing/tls-policy.js';
import { type BodyFault, refusedWith } from '../body-schema.js';
import { direction, envelope, onlyId, pageQuery, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

/** Those a list may be asked for; `pending`, `active`, `blocked`, `moved` and `caa_error` come to be here. */
export const HOSTNAME_STATUSES = [
  'active',
  'pending',
  'active_redeploying',
  'moved',
  'pending_deletion',
  'deleted',
  'pending_blocked',
  'pending_migration',
  'pending_provisioned',
  'test_pending',
  'test_active',
  'test_active_apex',
  'test_blocked',
  'test_failed',
  'provisioned',
  'blocked',
  'caa_error',
] as const;

export const SSL_STATUSES = [
  'initializing',
  'pending_validation',
  'deleted',
  'pending_issuance',
  'pending_deployment',
  'pending_deletion',
  'pending_expiration',
  'expired',
  'active',
  'initializing_timed_out',
  'validation_timed_out',
  'issuance_timed_out',
  'deployment_timed_out',
  'deletion_timed_out',
  'pending_cleanup',
  'staging_deployment',
  'staging_active',
  'deactivating',
  'inactive',
  'backup_issued',
  'holding_deployment',
  'caa_error',
] as const;

export const hostnameParams = zoneParams.extend({ custom_hostname_id: z.string().describe('A UUID') });

export const certificateParams = hostnameParams.extend({
  certificate_pack_id: z.string().describe('`ssl.id` of the hostname'),
  certificate_id: z.string().describe('A UUID'),
});

/** What a customer publishes for one name, so that an authority validates it. */
export const validationRecord = z.object({
  status: z.string(),
  txt_name: z.string().optional(),
  txt_value: z.string().optional(),
  http_url: z.string().optional(),
  http_body: z.string().optional(),
});

/** Ours. */
export const issuedBy = z
  .enum(ISSUED_BY)
  .describe(
    'Who really issued it: `built_in` is the authority of this installation, which browsers do not know, in place of `certificate_authority` (ours)',
  );

const certificate = z.object({
  id: z.string(),
  issuer: z.string(),
  issued_by: issuedBy,
  serial_number: z.string(),
  signature: z.string(),
  issued_on: time,
  expires_on: time,
  fingerprint_sha256: z.string(),
});

const onOff = z.enum(['on', 'off']).optional();

const sslSettings = z.object({
  http2: onOff,
  tls_1_3: onOff,
  tls_1_2_only: onOff,
  early_hints: onOff,
  min_tls_version: z.enum(['1.0', '1.1', '1.2', '1.3']).optional(),
  ciphers: z.array(z.string()).readonly().optional(),
});

const ssl = z
  .object({
    id: z.string().optional(),
    type: z.literal('dv'),
    method: z.enum(['http', 'txt']),
    status: z.enum(SSL_STATUSES),
    certificate_authority: z.string().describe('The one in use, or the one that was asked for'),
    bundle_method: z.enum(['ubiquitous', 'optimal', 'force']),
    wildcard: z.boolean(),
    settings: sslSettings,
    hosts: z.array(z.string()).readonly(),
    issuer: z.string().optional(),
    issued_by: issuedBy.optional(),
    serial_number: z.string().optional(),
    signature: z.string().optional(),
    uploaded_on: time.optional(),
    expires_on: time.optional(),
    validation_records: z.array(validationRecord).optional(),
    txt_name: z.string().optional(),
    txt_value: z.string().optional(),
    http_url: z.string().optional(),
    http_body: z.string().optional(),
    dcv_delegation_records: z.array(z.object({ cname: z.string(), cname_target: z.string() })),
    validation_errors: z
      .array(z.object({ message: z.string(), actor: z.enum(['provider', 'customer', 'ca']).describe('Who must act') }))
      .optional(),
    certificates: z.array(certificate).optional(),
  })
  .meta({ id: 'CustomHostnameSsl' });

export type Ssl = z.output<typeof ssl>;

export const customHostname = z
  .object({
    id: z.string(),
    hostname: z.string(),
    ssl: ssl.nullable(),
    status: z.enum(HOSTNAME_STATUSES),
    verification_errors: z.array(z.string()).readonly().optional(),
    ownership_verification: z.object({ type: z.literal('txt'), name: z.string(), value: z.string() }),
    ownership_verification_http: z.object({ http_url: z.string(), http_body: z.string() }),
    ownership_verification_cname: z
      .object({ cname: z.string(), cname_target: z.string() })
      .optional()
      .describe('Where the zone setting `unique_targets` is on: the one name that proves it by CNAME'),
    proven: z.boolean().describe('Whether a proof of ownership is found (ours)'),
    pointed: z.boolean().describe('Whether it was ever seen to lead here (ours)'),
    custom_metadata: z.record(z.string(), z.string()).optional(),
    custom_origin_server: z.string().optional(),
    custom_origin_sni: z.string().optional(),
    created_at: time,
    next_check_at: time
      .optional()
      .describe('When the server checks it again by itself, or deletes it if it is `moved`; absent: never (ours)'),
    next_step: z.string().describe('Who must do what next, in English (ours)'),
  })
  .meta({ id: 'CustomHostname' });

export type CustomHostname = z.output<typeof customHostname>;

type Key = Parameters<typeof hostnameFailure>[0];

/** Refuses with a code of custom hostnames; their texts name the member, what is expected, or the whole fault as the reason. */
const refuse =
  (key: Key) =>
  ({ name, expected, text, pointer }: BodyFault): AppError =>
    hostnameFailure(key, { name, expected, reason: text }, { pointer });
const refuseExpecting =
  (key: Key) =>
  ({ expected, pointer }: BodyFault): AppError =>
    hostnameFailure(key, { reason: `expected ${expected}` }, { pointer });

/** A body that is not JSON, or not an object. */
const refuseJson = ({ expected, text }: BodyFault): AppError =>
  hostnameFailure('badJson', { reason: expected === 'JSON' ? text : 'it is not an object' });

const onOffInput = (key: Key) => refusedWith(z.enum(['on', 'off']).nullish(), refuse(key));

export const cipherSuite = z.enum(CIPHER_SUITES, {
  error: 'names of cipher suites of TLS 1.2 that this server has, such as ECDHE-ECDSA-AES128-GCM-SHA256',
});

const ciphers = z
  .array(cipherSuite, { error: 'a list of cipher suites' })
  .max(64, { error: 'at most 64 cipher suites' });

const sslSettingsInput = z.object({
  http2: onOffInput('badHttp2'),
  tls_1_3: onOffInput('badTls13'),
  tls_1_2_only: onOffInput('badTls12Only'),
  early_hints: onOffInput('badHttp2'),
  min_tls_version: refusedWith(z.enum(['1.0', '1.1', '1.2', '1.3']).nullish(), refuse('badMinimumTls')),
  ciphers: refusedWith(ciphers.nullish(), refuseExpecting('badCiphers')),
});

const broughtInput = {
  custom_certificate: refusedWith(z.string().nullish(), ({ pointer }) =>
    hostnameFailure('badCertificate', { reason: 'It must be a text.' }, { pointer }),
  ).describe('PEM'),
  custom_key: refusedWith(z.string().nullish(), ({ pointer }) =>
    hostnameFailure('badKey', { reason: 'It must be a text.' }, { pointer }),
  ).describe('PEM'),
};

const EMAIL_METHOD = 'http or txt: authorities no longer validate by email';

const sslInput = z.object({
  method: refusedWith(
    z.enum(['http', 'txt'], { error: ({ input }) => (input === 'email' ? EMAIL_METHOD : 'http or txt') }).nullish(),
    refuseExpecting('badMethod'),
  ).describe('`http` unless given; a wildcard needs `txt`'),
  type: refusedWith(z.literal('dv').optional(), refuse('badType')),
  certificate_authority: z
    .enum(['', ...AUTHORITY_NAMES], { error: `empty or one of ${AUTHORITY_NAMES.join(', ')}` })
    .nullish()
    .describe('Empty: the service chooses'),
  wildcard: z.boolean().nullish(),
  bundle_method: refusedWith(z.enum(['ubiquitous', 'optimal', 'force', '']).nullish(), refuse('badBundleMethod')),
  cloudflare_branding: z.boolean().nullish().describe('Accepted and ignored'),
  settings: sslSettingsInput.nullish(),
  custom_csr_id: refusedWith(z.string().nullish(), refuse('badCsr')).describe('Not supported'),
  ...broughtInput,
  custom_cert_bundle: z
    .array(z.object(broughtInput), { error: 'a list of one or two certificates' })
    .min(1, { error: 'a list of one or two certificates' })
    .max(2, { error: 'a list of one or two certificates' })
    .nullish(),
});

const settable = {
  ssl: refusedWith(sslInput.nullish(), refuse('badSsl')),
  custom_metadata: refusedWith(z.record(z.string(), z.string()).nullish(), refuse('badMetadata')),
  custom_origin_server: refusedWith(z.string().nullish(), refuse('unreadableOrigin')).describe(
    'A record of the zone; empty: the fallback origin',
  ),
  custom_origin_sni: refusedWith(z.string().nullish(), refuse('badSni')).describe(
    'A host name, or `:request_host_header:`',
  ),
};

export const hostnameCreation = refusedWith(
  z
    .object({
      hostname: refusedWith(z.string(), ({ pointer }) =>
        hostnameFailure('badName', { reason: 'expected a host name' }, { pointer }),
      ),
      ...settable,
    })
    .meta({
      id: 'CustomHostnameCreation',
      examples: [{ hostname: 'shop.customer.net', ssl: { method: 'txt', type: 'dv' } }],
    }),
  refuseJson,
);

export const hostnameEdit = refusedWith(
  z
    .object({
      hostname: refusedWith(z.string().nullish(), ({ pointer }) =>
        hostnameFailure('badName', { reason: 'expected a host name' }, { pointer }),
      ).describe('Must be the same'),
      ...settable,
    })
    .meta({ id: 'CustomHostnameEdit', examples: [{ custom_origin_server: 'origin.example.com' }] }),
  refuseJson,
);

export const certificateReplacement = refusedWith(
  z.object(broughtInput).meta({ id: 'CustomHostnameCertificate' }),
  refuseJson,
);

export const hostnameQuery = z.object({
  id: z.string().optional(),
  hostname: z.string().optional().describe('The whole name'),
  'hostname.exact': z.string().optional(),
  'hostname.contain': z.string().optional(),
  'hostname.startsWith': z.string().optional(),
  ssl: z.enum(['0', '1']).optional().describe('Without or with a certificate'),
  ssl_status: z.enum(SSL_STATUSES).optional(),
  hostname_status: z.enum(HOSTNAME_STATUSES).optional(),
  certificate_authority: z.enum(AUTHORITY_NAMES).optional(),
  custom_origin_server: z.string().optional(),
  wildcard: z.enum(['true', 'false']).optional(),
  order: z.enum(['ssl', 'ssl_status']).optional().describe('By age unless given'),
  direction,
  ...pageQuery,
});

/** Some clients read the identifier outside the envelope (v4: §10.1). */
export const hostnameDeletion = envelope(onlyId).extend({ id: z.string() });

export const quota = z.object({
  allocated: z.int(),
  used: z.int(),
  exceeded: z.int(),
  hard_cap: z.int(),
});

export const fallbackOrigin = z
  .object({
    origin: z.string(),
    status: z.enum(['initializing', 'active', 'pending_deletion']),
    errors: z.array(z.string()).readonly(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'FallbackOrigin' });

export type FallbackOrigin = z.output<typeof fallbackOrigin>;

export const fallbackOriginEdit = refusedWith(
  z.object({
    origin: refusedWith(z.string().describe('A proxied record of the zone'), refuse('unreadableOrigin')),
  }),
  refuseJson,
);
