/** `/accounts/{account_id}/r2/buckets` and `/r2/metrics` (v4: §13). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { accountUsage, createBucket, deleteBucket, editBucket, getBucket, listBuckets } from '../../bucket/buckets.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { BUCKET_PAGES, pageOf } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersOne } from '../schema.js';
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

const tags = ['Buckets'];
const LIST = '/accounts/:account_id/r2/buckets';
const ONE = `${LIST}/:bucket_name`;

export interface BucketRouteOptions {
  readonly contextOf: ContextOf;
}

export const bucketRoutes: FastifyPluginAsyncZod<BucketRouteOptions> = async (app, options) => {
  addList(app, options);
  addCreation(app, options);
  addGet(app, options);
  addEdit(app, options);
  addDeletion(app, options);
  addMetrics(app, options);
};

function addList(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.get(
    LIST,
    {
      config: { area: 'buckets', readsLong: true },
      schema: {
        tags,
        summary: 'List buckets',
        params: accountParams,
        querystring: bucketQuery,
        headers: bucketHeaders,
        response: bucketList,
      },
    },
    async (request) => {
      const query = queryOf(request);
      const { perPage } = pageOf(query, BUCKET_PAGES);
      choiceValue(query, 'order', ['name']);
      const { items, next } = await listBuckets(contextOf(request), request.params.account_id, {
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
}

function addCreation(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.post(
    LIST,
    {
      config: { area: 'buckets', oneCommit: true },
      schema: {
        tags,
        summary: 'Create a bucket',
        params: accountParams,
        headers: bucketHeaders,
        body: bucketCreation,
        response: answersOne(bucket),
      },
    },
    async (request) => {
      const input = { ...request.body, jurisdiction: jurisdictionOf(request) };
      return success(bucketView(await createBucket(contextOf(request), request.params.account_id, input)));
    },
  );
}

function addGet(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.get(
    ONE,
    {
      config: { area: 'buckets' },
      schema: {
        tags,
        summary: 'Get a bucket',
        params: bucketParams,
        headers: bucketHeaders,
        response: answersOne(bucket),
      },
    },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      return success(bucketView(await getBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request))));
    },
  );
}

function addEdit(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.patch(
    ONE,
    {
      config: { area: 'buckets', oneCommit: true },
      schema: {
        tags,
        summary: "Edit a bucket's default storage class",
        params: bucketParams,
        headers: bucketEditHeaders,
        response: answersOne(bucket),
      },
    },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      const storageClass = requireStorageClass(request);
      const context = contextOf(request);
      const edited = await editBucket(context, account_id, bucket_name, jurisdictionOf(request), storageClass);
      return success(bucketView(edited));
    },
  );
}

function addDeletion(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.delete(
    ONE,
    {
      config: { area: 'buckets', oneCommit: true },
      schema: {
        tags,
        summary: 'Delete an empty bucket',
        params: bucketParams,
        headers: bucketHeaders,
        response: answersOne(z.object({})),
      },
    },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      await deleteBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request));
      return success({});
    },
  );
}

function addMetrics(app: RouteScope, { contextOf }: BucketRouteOptions): void {
  app.get(
    '/accounts/:account_id/r2/metrics',
    {
      config: { area: 'buckets', readsLong: true },
      schema: {
        tags,
        summary: 'Get the usage of all buckets of an account',
        params: accountParams,
        response: answersOne(bucketMetrics),
      },
    },
    async (request) => {
      const usage = await accountUsage(contextOf(request), request.params.account_id);
      return success({ standard: metricsView(usage.Standard), infrequentAccess: metricsView(usage.InfrequentAccess) });
    },
  );
}
