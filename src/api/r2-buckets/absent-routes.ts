/**
 * Bucket settings that clients request but this service does not have (v4: §13): they are always empty and cannot be
 * set. An unknown path below a bucket is refused with a code of buckets (v4: §15.5).
 */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { getBucket } from '../../bucket/buckets.js';
import { bucketFailure } from '../../bucket/errors.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
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

export const absentBucketRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  for (const { path, summary, result, none } of ABSENT) {
    app.get(
      `${ONE}/${path}`,
      {
        config: { area: 'buckets' },
        schema: {
          tags,
          summary,
          params: bucketParams,
          headers: bucketHeaders,
          response: answersOne<z.ZodType>(result),
        },
      },
      async (request) => {
        const { account_id, bucket_name } = request.params;
        await getBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request));
        return success(none);
      },
    );
  }

  app.get(`${ONE}/*`, { config: { area: 'buckets' }, schema: { hide: true, params: bucketParams } }, async () => {
    throw bucketFailure('noRoute');
  });
};
