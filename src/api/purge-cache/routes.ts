/** `/zones/{zone_id}/purge_cache` (v4: §11). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { purgeCache } from '../../control/purge-cache.js';
import { success } from '../envelope.js';
import { bodyObject, type ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

const list = z.array(z.string()).optional();
const body = z
  .object({
    purge_everything: z.literal(true).optional(),
    files: z.array(z.unknown()).optional(),
    tags: list,
    hosts: list,
    prefixes: list,
  })
  .meta({ id: 'CachePurge', description: 'Exactly one member' });

export const purgeCacheRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.post(
    '/zones/:zone_id/purge_cache',
    { schema: { tags: ['Cache'], summary: 'Purge the cache', params: zoneParams, body, response: answersOne(onlyId) } },
    async (request) =>
      success({ id: await purgeCache(contextOf(request), request.params.zone_id, bodyObject(request)) }),
  );
};
