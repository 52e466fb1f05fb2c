/** `/accounts/{account_id}/r2/buckets/{bucket_name}/objects`: list objects (v4: §13). */
import type { FastifyRequest } from 'fastify';
import { requireBucket } from '../../bucket/access.js';
import { listObjects } from '../../bucket/list.js';
import { success } from '../envelope.js';
import { OBJECT_PAGES, pageOf } from '../paging.js';
import { textValue } from '../query.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { objectList, objectQuery } from './schema.js';
import { listInfo, objectView } from './view.js';

const tags = ['Buckets'];
export const OBJECTS = '/accounts/:account_id/r2/buckets/:bucket_name/objects';
/** Each may have 8 kB of metadata. */
const FEW_OBJECTS = 100;

function isLong(request: FastifyRequest): boolean {
  return pageOf(queryOf(request), OBJECT_PAGES).perPage > FEW_OBJECTS;
}

export const objectListRoutes: AddRoutes = (app) => {
  app.get(
    OBJECTS,
    {
      area: 'objects',
      readsLong: isLong,
      tags,
      summary: 'List objects',
      params: bucketParams,
      querystring: objectQuery,
      headers: bucketHeaders,
      response: objectList,
    },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      const bucket = requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
      const query = queryOf(request);
      const { perPage } = pageOf(query, OBJECT_PAGES);
      const page = listObjects(ctx.store, bucket.seq, {
        prefix: textValue(query, 'prefix'),
        delimiter: textValue(query, 'delimiter'),
        startAfter: textValue(query, 'start_after'),
        cursor: textValue(query, 'cursor'),
        limit: perPage,
      });
      return { ...success(page.items.map(objectView)), result_info: listInfo(page, perPage) };
    },
  );
};
