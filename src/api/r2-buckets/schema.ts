/** Shapes of buckets on the wire (v4: §13). */
import { z } from 'zod';
import { bucketFailure } from '../../bucket/errors.js';
import { JURISDICTIONS, LOCATIONS, STORAGE_CLASSES } from '../../store/objects/buckets.js';
import { accountParams } from '../accounts/schema.js';
import { anyCase, refusedWith } from '../body-schema.js';
import { answers, direction, message, time } from '../schema.js';

export const storageClass = z.enum(STORAGE_CLASSES);

/** The use case checks names, because it knows the code of each error. */
export const bucketParams = accountParams.extend({ bucket_name: z.string().describe('Name of the bucket') });

export const jurisdictionHeader = {
  'cf-r2-jurisdiction': z.enum(JURISDICTIONS).optional().describe('Names are unique within a jurisdiction'),
};

export const bucketHeaders = z.object(jurisdictionHeader);

export const bucketEditHeaders = z.object({
  ...jurisdictionHeader,
  'cf-r2-storage-class': storageClass.describe('Default class of objects'),
});

export const bucket = z
  .object({
    name: z.string(),
    creation_date: time,
    location: z.string().describe('The location hint from its creation, upper case; `ENAM` without one'),
    storage_class: storageClass.describe('Default class of objects'),
    jurisdiction: z.enum(JURISDICTIONS),
  })
  .meta({ id: 'Bucket' });

export type Bucket = z.output<typeof bucket>;

/** In any case; empty and null choose the default (v4: §0.9). */
function choice<Choice extends string>(choices: readonly Choice[]) {
  const schema = z.union([anyCase(choices), z.literal('').transform(() => undefined)], {
    error: `one of ${choices.join(', ')}`,
  });
  return refusedWith(schema.nullish(), ({ name, expected, pointer }) =>
    bucketFailure('badInput', { reason: `${name} is invalid: expected ${expected}.` }, { pointer }),
  );
}

export const bucketCreation = z
  .object({
    name: refusedWith(
      z.string().describe('3 to 63 lower-case letters, digits and hyphens; no hyphen first or last'),
      () => bucketFailure('badName'),
    ),
    locationHint: choice(LOCATIONS).describe('Stored and shown without effect; there is one location'),
    storageClass: choice(STORAGE_CLASSES),
  })
  .meta({ id: 'BucketCreation' });

export const bucketQuery = z.object({
  name_contains: z.string().optional(),
  start_after: z.string().optional().describe('Names after this one, in the requested order'),
  cursor: z.string().optional().describe('From the previous page'),
  per_page: z.string().optional().describe('Default 20, at most 1000'),
  order: z.enum(['name']).optional(),
  direction,
});

/** A page of buckets; the last one has no cursor. */
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
