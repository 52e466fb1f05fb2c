/** `/zones/{zone_id}/purge_cache` (v4: §11). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { purgeCache } from '../../control/zones/purge.js';
import { success } from '../envelope.js';
import { bodyObject, type ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { cachePurge } from './schema.js';

export const purgeCacheRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.post(
    '/zones/:zone_id/purge_cache',
    {
      config: { area: 'cachePurge', zoneState: 'write' },
      schema: {
        tags: ['Cache'],
        summary: 'Purge the cache',
        params: zoneParams,
        body: cachePurge,
        response: answersOne(onlyId),
      },
    },
    async (request) =>
      success({ id: await purgeCache(contextOf(request), request.params.zone_id, bodyObject(request)) }),
  );
};
