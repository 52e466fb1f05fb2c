/** `/zones/{zone_id}/custom_hostnames/fallback_origin` (v4: §10.6), and where validation is delegated to (v4: §10.9). */
import { z } from 'zod';
import { dcvIdentifier } from '../../certs/dcv-delegation.js';
import { requireZone } from '../../control/guard/access.js';
import { deleteFallbackOrigin, getFallbackOrigin, putFallback } from '../../hostnames/fallback-origin.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { fallbackOrigin, fallbackOriginEdit } from './schema.js';
import { fallbackOriginView } from './view.js';

const PATH = '/zones/:zone_id/custom_hostnames/fallback_origin';

export const fallbackRoutes = routes({ tags: ['Custom hostnames'], area: 'certificates' }, (app) => {
  app.get(
    PATH,
    { summary: 'Get the fallback origin', params: zoneParams, answer: fallbackOrigin },
    async (ctx, { params }) => fallbackOriginView(await getFallbackOrigin(ctx, params.zone_id)),
  );

  app.put(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Set the fallback origin',
      params: zoneParams,
      body: fallbackOriginEdit,
      answer: fallbackOrigin,
    },
    async (ctx, { params, body: { origin } }) => fallbackOriginView(await putFallback(ctx, params.zone_id, origin)),
  );

  app.delete(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Have no fallback origin',
      params: zoneParams,
      answer: fallbackOrigin,
    },
    async (ctx, { params }) => fallbackOriginView(await deleteFallbackOrigin(ctx, params.zone_id)),
  );

  app.get(
    '/zones/:zone_id/dcv_delegation/uuid',
    {
      summary: 'Get the label that names delegations of validation to this zone',
      params: zoneParams,
      answer: z.object({ uuid: z.string() }),
    },
    async (ctx, { params }) => ({ uuid: dcvIdentifier(requireZone(ctx, params.zone_id)) }),
  );
});
