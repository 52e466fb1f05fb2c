/** `/zones/{zone_id}/purge_cache`, and the newer name of the same (v4: §11). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { purgeCache } from '../../control/zones/purge.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { cachePurge } from './schema.js';

const PATHS = [
  { path: 'purge_cache', summary: 'Purge the cache' },
  { path: 'invalidate_cache', summary: 'Invalidate the cache, which is the same as to purge it' },
];

export const purgeCacheRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  for (const { path, summary } of PATHS) {
    app.post(
      `/zones/:zone_id/${path}`,
      {
        config: { area: 'cachePurge', zoneState: 'write', oneCommit: true },
        schema: { tags: ['Cache'], summary, params: zoneParams, body: cachePurge, response: answersOne(onlyId) },
      },
      async (request) => success({ id: await purgeCache(contextOf(request), request.params.zone_id, request.body) }),
    );
  }
};
