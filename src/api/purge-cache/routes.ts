/** `/zones/{zone_id}/purge_cache`, and the newer name of the same (v4: §11). */
import { purgeCache } from '../../control/zones/purge.js';
import type { AddRoutes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { cachePurge } from './schema.js';

const PATHS = [
  { path: 'purge_cache', summary: 'Purge the cache' },
  { path: 'invalidate_cache', summary: 'Invalidate the cache, which is the same as to purge it' },
];

export const purgeCacheRoutes: AddRoutes = (app) => {
  for (const { path, summary } of PATHS) {
    app.post(
      `/zones/:zone_id/${path}`,
      {
        area: 'cachePurge',
        zoneState: 'write',
        oneCommit: true,
        tags: ['Cache'],
        summary,
        params: zoneParams,
        body: cachePurge,
        answer: onlyId,
      },
      async (ctx, { params, body }) => ({ id: await purgeCache(ctx, params.zone_id, body) }),
    );
  }
};
