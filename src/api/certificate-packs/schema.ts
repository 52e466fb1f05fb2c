/** Shapes of certificate packs, of their verification and of the universal settings (v4: §10.9). */
import { z } from 'zod';
import { AUTHORITY_NAMES } from '../../certs/authority.js';
import { listOf } from '../body-schema.js';
import { issuedBy, SSL_STATUSES, validationRecord } from '../custom-hostnames/schema.js';
import { pageQuery, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

export const packParams = zoneParams.extend({ certificate_pack_id: z.string().describe('A UUID') });

export const DEPLOYMENTS = ['staging', 'production'] as const;

export const packQuery = z.object({
  status: z.enum(['all']).optional().describe('Include packs that serve nothing yet, or nothing any more'),
  deploy: z.enum(DEPLOYMENTS).optional().describe('Staging does not exist here, so `staging` matches nothing'),
  ...pageQuery,
});

const certificate = z.object({
  id: z.string(),
  hosts: z.array(z.string()).readonly(),
  issuer: z.string(),
  issued_by: issuedBy,
  signature: z.string(),
  status: z.enum(['active', 'expired']),
  bundle_method: z.literal('ubiquitous'),
  zone_id: z.string(),
  uploaded_on: time,
  modified_on: time,
  expires_on: time,
  priority: z.int(),
  serial_number: z.string(),
  fingerprint_sha256: z.string(),
});

export const pack = z
  .object({
    id: z.string(),
    type: z.enum(['universal', 'advanced']),
    hosts: z.array(z.string()).readonly(),
    primary_certificate: z.string().nullable(),
    status: z.enum(SSL_STATUSES),
    certificates: z.array(certificate),
    certificate_authority: z.string().describe('The authority in use, or the requested one'),
    validation_method: z.enum(['http', 'txt']),
    validity_days: z.int(),
    cloudflare_branding: z.literal(false),
    validation_records: z.array(validationRecord).optional(),
    validation_errors: z
      .array(z.object({ message: z.string(), actor: z.enum(['provider', 'customer', 'ca']).describe('Who must act') }))
      .optional(),
    dcv_delegation_records: z.array(z.object({ cname: z.string(), cname_target: z.string() })),
  })
  .meta({ id: 'CertificatePack' });

export type Pack = z.output<typeof pack>;

export const packOrder = z
  .object({
    type: z.literal('advanced', { error: 'advanced' }),
    hosts: listOf(z.string(), 1, 50, 'host names').describe('Names in the zone, its apex among them'),
    validation_method: z.enum(['txt', 'http'], { error: 'txt or http' }).describe('A wildcard needs `txt`'),
    validity_days: z
      .literal([14, 30, 90], { error: '14, 30 or 90: authorities no longer issue for a year' })
      .describe('`lets_encrypt` issues for 90 days only'),
    certificate_authority: z.enum(AUTHORITY_NAMES),
    cloudflare_branding: z.boolean().nullish().describe('Accepted and ignored'),
  })
  .meta({ id: 'CertificatePackOrder' });

/** Clients that only want a retry may send an empty body. */
export const packEdit = z
  .object({ cloudflare_branding: z.unknown().optional().describe('Accepted and ignored') })
  .optional();

export const packQuota = z.object({ advanced: z.object({ allocated: z.int(), used: z.int() }) });

export type PackQuota = z.output<typeof packQuota>;

export const verification = z
  .object({
    certificate_status: z.enum(['initializing', 'authorizing', 'issuing', 'active', 'expired', 'timing_out']),
    brand_check: z.literal(false),
    cert_pack_uuid: z.string(),
    signature: z.enum(['ECDSAWithSHA256', 'SHA256WithRSA']).optional(),
    validation_method: z.enum(['http', 'txt']),
    verification_type: z.literal('cname'),
    verification_status: z.boolean().describe('Whether control over the names is proved'),
    verification_info: z
      .object({ record_name: z.string(), record_target: z.string() })
      .optional()
      .describe('What the customer must publish next'),
  })
  .meta({ id: 'CertificateVerification' });

export type Verification = z.output<typeof verification>;

export const verificationQuery = z.object({ retry: z.enum(['true', 'false']).optional().describe('Check at once') });

export const verificationEdit = z.object({ validation_method: z.enum(['http', 'txt']) });

export const verificationEdited = z.object({
  id: z.string(),
  validation_method: z.enum(['http', 'txt']),
  status: z.enum(SSL_STATUSES),
});

export const universalSettings = z
  .object({
    enabled: z.boolean(),
    certificate_authority: z.enum(AUTHORITY_NAMES).optional().describe('Absent: the service chooses'),
  })
  .meta({ id: 'UniversalSettings' });

export type UniversalView = z.output<typeof universalSettings>;

export const universalEdit = z.object({
  enabled: z.boolean().nullish().describe('false: the certificate is revoked and removed'),
  certificate_authority: z
    .enum(['', ...AUTHORITY_NAMES], { error: `empty or one of ${AUTHORITY_NAMES.join(', ')}` })
    .nullish()
    .describe('Empty: the service chooses'),
});

export const certificateAuthority = z
  .object({
    name: z.enum(AUTHORITY_NAMES),
    issued_by: z
      .enum(['built_in', ...AUTHORITY_NAMES])
      .describe('`built_in`: it is not set up here, so the authority of this installation issues in its place'),
  })
  .meta({ id: 'CertificateAuthority' });

export type CertificateAuthority = z.output<typeof certificateAuthority>;
