/** Shapes of access keys of a bucket, and of signed links. */
import { z } from 'zod';
import { LONGEST_LINK } from '../../bucket/credentials/keys.js';

export const keyBody = z
  .strictObject({
    read_only: z.boolean().optional().describe('Reading and listing only'),
    expires_on: z.string().optional().describe('Time as RFC 3339 has it; absent: never'),
  })
  .meta({ id: 'BucketKeyBody' });

export const bucketKey = z
  .object({
    access_key_id: z.string().describe('Identifier of the token'),
    secret_access_key: z.string().describe('Returned only here'),
    endpoint: z.string().describe('Where clients reach the S3 API'),
    region: z.string(),
    bucket: z.string(),
    expires_on: z.string().nullable(),
  })
  .meta({ id: 'BucketKey' });

export const objectLinkBody = z
  .strictObject({
    key: z.string().describe('Of the object'),
    method: z.enum(['GET', 'PUT']).optional().describe('`GET` unless it is given'),
    expires: z.int().min(1).max(LONGEST_LINK).describe('Seconds for which it holds'),
    access_key_id: z.string().optional().describe('The token that signs it; absent: one of yours that may do no more'),
  })
  .meta({ id: 'ObjectLinkBody' });

export const link = z
  .object({ url: z.string(), access_key_id: z.string().describe('The token with which it ends') })
  .meta({ id: 'ObjectLink' });

export type BucketKey = z.output<typeof bucketKey>;
export type ObjectLink = z.output<typeof link>;
