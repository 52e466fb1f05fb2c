/**
 * Bucket settings that clients request but this service does not have (v4: §13): they are always empty and cannot be
 * set. An unknown path below a bucket is refused with a code of buckets (v4: §15.5).
 */
import { z } from 'zod';
import { getBucket } from '../../bucket/buckets.js';
import { bucketFailure } from '../../bucket/errors.js';
import { routes } from '../routing/route.js';
import { jurisdictionOf } from './request.js';
import { bucketHeaders, bucketParams } from './schema.js';

const tags = ['Buckets'];
const ONE = '/accounts/:account_id/r2/buckets/:bucket_name';

const ABSENT = [
  {
    path: 'sippy',
    summary: 'Get the migration source: there is none',
    result: z.object({ enabled: z.boolean() }),
    none: { enabled: false },
  },
];

export const absentBucketRoutes = routes({ area: 'buckets' }, (app) => {
  for (const { path, summary, result, none } of ABSENT) {
    app.get(
      `${ONE}/${path}`,
      { tags, summary, params: bucketParams, headers: bucketHeaders, answer: result },
      async (ctx, request) => {
        const { account_id, bucket_name } = request.params;
        await getBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
        return none;
      },
    );
  }

  app.open.get(`${ONE}/*`, { hide: true, params: bucketParams }, async () => {
    throw bucketFailure('noRoute');
  });
});
