/** Shapes of `/accounts/{account_id}/r2/buckets/{bucket_name}/application` (ours). */
import { z } from 'zod';

export const bucketApplication = z
  .object({
    bindings: z.array(z.string()).describe('Names under which the bucket application knows the bucket'),
    served: z.boolean().describe('Whether it serves this bucket: the one that was bound last'),
    url: z.string().nullable().describe('Where it listens; null while it does not serve this bucket'),
    allow_list: z
      .array(z.string())
      .describe(
        'Keys that anyone may read there (the setting `bucket-allow-list`); empty while it does not serve this bucket',
      ),
  })
  .meta({ id: 'BucketApplication' });

export type BucketApplication = z.output<typeof bucketApplication>;

export const bucketBinding = z
  .object({ binding: z.string().describe('A name of a JavaScript variable, such as `MY_BUCKET`') })
  .meta({ id: 'BucketBinding' });
