/** Shapes of buckets on the wire (v4: §13). */
import { z } from 'zod';
import { JURISDICTIONS, LOCATIONS, STORAGE_CLASSES } from '../../store/objects/buckets.js';
import { accountParams } from '../accounts/schema.js';
import { answers, direction, message, time } from '../schema.js';

export const storageClass = z.enum(STORAGE_CLASSES);

/** Names are judged by the use case, which knows the code of each fault. */
export const bucketParams = accountParams.extend({ bucket_name: z.string().describe('Name of the bucket') });

export const jurisdictionHeader = {
  'cf-r2-jurisdiction': z.enum(JURISDICTIONS).optional().describe('Names are unique within a jurisdiction'),
};

export const bucketHeaders = z.object(jurisdictionHeader);

export const bucketEditHeaders = z.object({
  ...jurisdictionHeader,
  'cf-r2-storage-class': storageClass.describe('Class of objects that name none'),
});

export const bucket = z
  .object({
    name: z.string(),
    creation_date: time,
    location: z.string().optional().describe('The hint given when it was made, upper case; absent without one'),
    storage_class: storageClass.describe('Class of objects that name none'),
    jurisdiction: z.enum(JURISDICTIONS),
  })
  .meta({ id: 'Bucket' });

export type Bucket = z.output<typeof bucket>;

export const bucketCreation = z
  .object({
    name: z.string().describe('3 to 63 lower-case letters, digits and hyphens; no hyphen first or last'),
    locationHint: z.enum(LOCATIONS).optional().describe('Kept and shown; there is one location'),
    storageClass: storageClass.optional(),
  })
  .meta({ id: 'BucketCreation' });

export const bucketQuery = z.object({
  name_contains: z.string().optional(),
  start_after: z.string().optional().describe('Names after this one, in the order asked for'),
  cursor: z.string().optional().describe('From the page before'),
  per_page: z.string().optional().describe('20 unless given, at most 1000'),
  order: z.enum(['name']).optional(),
  direction,
});

/** A page of buckets; no cursor on the last one. */
export const bucketList = answers(
  z.object({
    result: z.object({ buckets: z.array(bucket) }),
    success: z.literal(true),
    errors: z.array(message),
    messages: z.array(message),
    result_info: z.object({ cursor: z.string().optional(), per_page: z.int() }),
  }),
);

const stored = z.object({
  payloadSize: z.int().describe('Octets of objects'),
  metadataSize: z.int().describe('Octets of their metadata'),
  objects: z.int(),
});
const byState = z.object({ published: stored, uploaded: stored.describe('Unfinished uploads') });

export const bucketMetrics = z.object({ standard: byState, infrequentAccess: byState }).meta({ id: 'BucketMetrics' });
