/** `/zones/{zone_id}/custom_hostnames/fallback_origin` (v4: §10.6), and where validation is delegated to (v4: §10.9). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { dcvIdentifier } from '../../certs/dcv-delegation.js';
import { requireZone } from '../../control/guard/access.js';
import { deleteFallbackOrigin, getFallbackOrigin, putFallback } from '../../hostnames/fallback-origin.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { fallbackOrigin, fallbackOriginEdit } from './schema.js';
import { fallbackOriginView } from './view.js';

const tags = ['Custom hostnames'];
const PATH = '/zones/:zone_id/custom_hostnames/fallback_origin';
const response = answersOne(fallbackOrigin);

export const fallbackRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    {
      config: { area: 'certificates' },
      schema: { tags, summary: 'Get the fallback origin', params: zoneParams, response },
    },
    async (request) => success(fallbackOriginView(await getFallbackOrigin(contextOf(request), request.params.zone_id))),
  );

  app.put(
    PATH,
    {
      config: { area: 'certificates', zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Set the fallback origin', params: zoneParams, body: fallbackOriginEdit, response },
    },
    async (request) => {
      const { origin } = request.body;
      return success(fallbackOriginView(await putFallback(contextOf(request), request.params.zone_id, origin)));
    },
  );

  app.delete(
    PATH,
    {
      config: { area: 'certificates', zoneState: 'write', oneCommit: true },
      schema: { tags, summary: 'Have no fallback origin', params: zoneParams, response },
    },
    async (request) =>
      success(fallbackOriginView(await deleteFallbackOrigin(contextOf(request), request.params.zone_id))),
  );

  app.get(
    '/zones/:zone_id/dcv_delegation/uuid',
    {
      config: { area: 'certificates' },
      schema: {
        tags,
        summary: 'Get the label that names delegations of validation to this zone',
        params: zoneParams,
        response: answersOne(z.object({ uuid: z.string() })),
      },
    },
    async (request) => success({ uuid: dcvIdentifier(requireZone(contextOf(request), request.params.zone_id)) }),
  );
};
