/** `/zones/{zone_id}/changes/{change}`: whether every DNS process serves a change (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Propagation } from '../../control/kernel/propagation.js';
import { getChange } from '../../control/zones/changes.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { changeParams, zoneChange } from './schema.js';
import { zoneChangeView } from './view.js';

export interface ZoneChangeOptions {
  readonly contextOf: ContextOf;
  readonly propagation: Propagation | undefined;
}

export const zoneChangeRoutes: FastifyPluginAsyncZod<ZoneChangeOptions> = async (app, { contextOf, propagation }) => {
  app.get(
    '/zones/:zone_id/changes/:change',
    {
      config: { area: 'zone' },
      schema: {
        tags: ['Zone history'],
        summary: 'Get the progress of a change',
        params: changeParams,
        response: answersOne(zoneChange),
      },
    },
    async (request) => {
      const { zone_id: zoneId, change } = request.params;
      const item = await getChange(contextOf(request), zoneId, change);
      return success(zoneChangeView(item, propagation?.processes() ?? []));
    },
  );
};
