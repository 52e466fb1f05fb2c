/** Shapes of custom hostnames on the wire (v4: §10). */
import { z } from 'zod';
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

export const AUTHORITY_NAMES = ['digicert', 'google', 'lets_encrypt', 'ssl_com'] as const;

export const hostnameParams = zoneParams.extend({ custom_hostname_id: z.string().describe('A UUID') });

const validationRecord = z.object({
  status: z.string(),
  txt_name: z.string().optional(),
  txt_value: z.string().optional(),
  http_url: z.string().optional(),
  http_body: z.string().optional(),
});

const certificate = z.object({
  id: z.string(),
  issuer: z.string(),
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
    custom_metadata: z.record(z.string(), z.string()).optional(),
    custom_origin_server: z.string().optional(),
    custom_origin_sni: z.string().optional(),
    created_at: time,
  })
  .meta({ id: 'CustomHostname' });

export type CustomHostname = z.output<typeof customHostname>;

const settable = {
  ssl: z
    .object({
      method: z.enum(['http', 'txt']).optional().describe('`http` unless given; a wildcard needs `txt`'),
      type: z.literal('dv').optional(),
      certificate_authority: z
        .enum(['', ...AUTHORITY_NAMES])
        .optional()
        .describe('Empty: the service chooses'),
      wildcard: z.boolean().optional(),
      bundle_method: z.enum(['ubiquitous', 'optimal', 'force']).optional(),
      cloudflare_branding: z.boolean().optional().describe('Accepted and ignored'),
      settings: sslSettings.optional(),
      custom_certificate: z.string().optional().describe('PEM'),
      custom_key: z.string().optional().describe('PEM'),
      custom_cert_bundle: z.array(z.object({ custom_certificate: z.string(), custom_key: z.string() })).optional(),
    })
    .nullable()
    .optional(),
  custom_metadata: z.record(z.string(), z.string()).nullable().optional(),
  custom_origin_server: z.string().optional().describe('A record of the zone; empty: the fallback origin'),
  custom_origin_sni: z.string().optional().describe('A host name, or `:request_host_header:`'),
};

export const hostnameCreation = z.object({ hostname: z.string(), ...settable }).meta({ id: 'CustomHostnameCreation' });

export const hostnameEdit = z
  .object({ hostname: z.string().optional().describe('Must be the same'), ...settable })
  .meta({ id: 'CustomHostnameEdit' });

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

export const fallbackOriginEdit = z.object({ origin: z.string().describe('A proxied record of the zone') });
