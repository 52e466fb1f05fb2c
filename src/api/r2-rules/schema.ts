/** Shapes of the rules of buckets (v4: §13): CORS, lifecycle, locks. A member that is not known is refused. */
import { z } from 'zod';
import { CORS_METHODS } from '../../http/cors.js';

const id = z.string().describe('Unique in the list');
const age = z.int().describe('Seconds since the upload');
const date = z.string().describe('Time as RFC 3339 has it');
const ageCondition = z.strictObject({ type: z.literal('Age'), maxAge: age });
const dateCondition = z.strictObject({ type: z.literal('Date'), date });
const condition = z.discriminatedUnion('type', [ageCondition, dateCondition]);

const corsRule = z
  .strictObject({
    id: id.optional(),
    allowed: z.strictObject({
      methods: z.array(z.enum(CORS_METHODS)),
      origins: z.array(z.string()).describe('Such as https://www.example.com; one `*` stands for any text'),
      headers: z.array(z.string()).optional().describe('That a request may have; one `*` in each'),
    }),
    exposeHeaders: z.array(z.string()).optional().describe('That scripts may read'),
    maxAgeSeconds: z.int().optional().describe('How long browsers keep the answer'),
  })
  .meta({ id: 'BucketCorsRule' });

const lifecycleRule = z
  .strictObject({
    id,
    enabled: z.boolean(),
    conditions: z.strictObject({ prefix: z.string().describe('Beginning of the keys; empty: all of them') }),
    deleteObjectsTransition: z.strictObject({ condition }).optional(),
    abortMultipartUploadsTransition: z.strictObject({ condition: ageCondition }).optional(),
    storageClassTransitions: z
      .array(z.strictObject({ condition, storageClass: z.literal('InfrequentAccess') }))
      .optional(),
  })
  .meta({ id: 'BucketLifecycleRule' });

const lockRule = z
  .strictObject({
    id,
    enabled: z.boolean(),
    prefix: z.string().optional().describe('Beginning of the keys; absent: all of them'),
    condition: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('Age'), maxAgeSeconds: age }),
      dateCondition,
      z.strictObject({ type: z.literal('Indefinite') }),
    ]),
  })
  .meta({ id: 'BucketLockRule' });

function listOf<Rule extends z.ZodType>(rule: Rule) {
  return z.strictObject({ rules: z.array(rule).optional().describe('All of them; none removes them') });
}

/** Bodies that replace the rules of a bucket, by their kind. */
export const ruleLists = { cors: listOf(corsRule), lifecycle: listOf(lifecycleRule), lock: listOf(lockRule) } as const;

export type BucketCorsRule = z.output<typeof corsRule>;
export type BucketLifecycleRule = z.output<typeof lifecycleRule>;
export type BucketLockRule = z.output<typeof lockRule>;
