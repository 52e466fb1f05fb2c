/** `/accounts/{account_id}/r2/buckets` and `/r2/metrics` (v4: §13). */
import { z } from 'zod';
import { accountUsage, createBucket, deleteBucket, editBucket, getBucket, listBuckets } from '../../bucket/buckets.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { BUCKET_PAGES, pageOf } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { jurisdictionOf, requireStorageClass } from './request.js';
import {
  bucket,
  bucketCreation,
  bucketEditHeaders,
  bucketHeaders,
  bucketList,
  bucketMetrics,
  bucketParams,
  bucketQuery,
} from './schema.js';
import { bucketView, metricsView } from './view.js';

const LIST = '/accounts/:account_id/r2/buckets';
const ONE = `${LIST}/:bucket_name`;

export const bucketRoutes = routes({ tags: ['Buckets'], area: 'buckets' }, (app) => {
  app.get(
    LIST,
    {
      readsLong: true,
      summary: 'List buckets',
      params: accountParams,
      querystring: bucketQuery,
      headers: bucketHeaders,
      response: bucketList,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const { perPage } = pageOf(query, BUCKET_PAGES);
      choiceValue(query, 'order', ['name']);
      const { items, next } = await listBuckets(ctx, request.params.account_id, {
        jurisdiction: jurisdictionOf(request),
        nameContains: textValue(query, 'name_contains'),
        startAfter: textValue(query, 'start_after'),
        cursor: textValue(query, 'cursor'),
        direction: choiceValue(query, 'direction', ['asc', 'desc']),
        perPage,
      });
      const info = { ...(next === undefined ? {} : { cursor: next }), per_page: perPage };
      return { ...success({ buckets: items.map(bucketView) }), result_info: info };
    },
  );
  app.post(
    LIST,
    {
      oneCommit: true,
      summary: 'Create a bucket',
      params: accountParams,
      headers: bucketHeaders,
      body: bucketCreation,
      answer: bucket,
    },
    async (ctx, request) => {
      const input = { ...request.body, jurisdiction: jurisdictionOf(request) };
      return bucketView(await createBucket(ctx, request.params.account_id, input));
    },
  );
  app.get(
    ONE,
    { summary: 'Get a bucket', params: bucketParams, headers: bucketHeaders, answer: bucket },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      return bucketView(await getBucket(ctx, account_id, bucket_name, jurisdictionOf(request)));
    },
  );
  addEdit(app);
  addDeletion(app);
  addMetrics(app);
});

function addEdit(app: Routes): void {
  app.patch(
    ONE,
    {
      oneCommit: true,
      summary: "Edit a bucket's default storage class",
      params: bucketParams,
      headers: bucketEditHeaders,
      answer: bucket,
    },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      const storageClass = requireStorageClass(request);
      const edited = await editBucket(ctx, account_id, bucket_name, jurisdictionOf(request), storageClass);
      return bucketView(edited);
    },
  );
}

function addDeletion(app: Routes): void {
  app.delete(
    ONE,
    {
      oneCommit: true,
      summary: 'Delete an empty bucket',
      params: bucketParams,
      headers: bucketHeaders,
      answer: z.object({}),
    },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      await deleteBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
      return {};
    },
  );
}

function addMetrics(app: Routes): void {
  app.get(
    '/accounts/:account_id/r2/metrics',
    {
      readsLong: true,
      summary: 'Get the usage of all buckets of an account',
      params: accountParams,
      answer: bucketMetrics,
    },
    async (ctx, { params }) => {
      const usage = await accountUsage(ctx, params.account_id);
      return { standard: metricsView(usage.Standard), infrequentAccess: metricsView(usage.InfrequentAccess) };
    },
  );
}
