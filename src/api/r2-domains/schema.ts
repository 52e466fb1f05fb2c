/** Shapes of custom domains of buckets on the wire. */
import { z } from 'zod';
import { MIN_TLS_VERSIONS } from '../../store/objects/domains.js';
import { listOf } from '../body-schema.js';
import { cipherSuite } from '../custom-hostnames/schema.js';
import { bucketParams } from '../r2-buckets/schema.js';

export const domainParams = bucketParams.extend({ domain: z.string().describe('The name, such as cdn.example.com') });

const tls = {
  minTLS: z
    .enum(MIN_TLS_VERSIONS, { error: `one of ${MIN_TLS_VERSIONS.join(', ')}` })
    .nullish()
    .describe('Absent: as the zone says. Versions before 1.2 are never spoken'),
  ciphers: listOf(cipherSuite, 0, 64, 'cipher suites').nullish(),
};

export const domainCreation = z
  .object({
    domain: z.string({ error: 'a host name' }).describe('A name in the zone'),
    zoneId: z.string({ error: 'an identifier' }).describe('Identifier of a zone in the account of the bucket'),
    enabled: z.boolean().nullish().describe('Whether the bucket is shown to the public there; default true'),
    ...tls,
  })
  .meta({ id: 'BucketDomainCreation' });

export const domainEdit = z
  .object({ enabled: z.boolean().nullish(), ...tls })
  .meta({ id: 'BucketDomainEdit', description: 'Absent members stay as they are.' });

export const bucketDomain = z
  .object({
    domain: z.string(),
    enabled: z.boolean(),
    minTLS: z.enum(MIN_TLS_VERSIONS).optional(),
    ciphers: z.array(z.string()).optional(),
    zoneId: z.string(),
    zoneName: z.string(),
    status: z.object({
      ownership: z
        .enum(['pending', 'active', 'error'])
        .describe('`pending`: the zone is not active; `error`: the record is gone'),
      ssl: z
        .enum(['initializing', 'pending', 'active', 'deactivated', 'error'])
        .describe('Whether a certificate of the zone covers the name'),
    }),
  })
  .meta({ id: 'BucketDomain' });

export type BucketDomain = z.output<typeof bucketDomain>;

/** What is returned for a name that was just attached. */
export const attachedDomain = bucketDomain.omit({ zoneName: true, status: true }).meta({ id: 'AttachedBucketDomain' });
export const editedDomain = attachedDomain.omit({ zoneId: true }).meta({ id: 'EditedBucketDomain' });

export const managedEdit = z.object({ enabled: z.boolean({ error: 'true or false' }) });

export const managedDomain = z
  .object({ bucketId: z.string(), domain: z.string().describe('Empty: there is none'), enabled: z.literal(false) })
  .meta({ id: 'ManagedBucketDomain' });
