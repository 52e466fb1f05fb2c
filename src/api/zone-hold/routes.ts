/** `/zones/{zone_id}/hold` (v4: §4). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  createZoneHold,
  deleteZoneHold,
  editZoneHold,
  getZoneHold,
  type ZoneHoldItem,
} from '../../control/zone-hold.js';
import { success } from '../envelope.js';
import { flagValue, textValue } from '../query.js';
import { bodyObject, type ContextOf, queryOf } from '../request.js';
import { answersOne, time } from '../schema.js';
import { printOptionalTime } from '../times.js';
import { zoneParams } from '../zones/schema.js';

const tags = ['Zone holds'];
const PATH = '/zones/:zone_id/hold';

const zoneHold = z
  .object({
    hold: z.boolean(),
    hold_after: time.nullable().describe('When the hold is on; null = off'),
    include_subdomains: z.boolean(),
  })
  .meta({ id: 'ZoneHold' });

const response = answersOne(zoneHold);

function zoneHoldView(item: ZoneHoldItem): z.output<typeof zoneHold> {
  return {
    hold: item.hold,
    hold_after: printOptionalTime(item.holdAfter),
    include_subdomains: item.includeSubdomains,
  };
}

export const zoneHoldRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(PATH, { schema: { tags, summary: 'Get the hold', params: zoneParams, response } }, async (request) =>
    success(zoneHoldView(await getZoneHold(contextOf(request), request.params.zone_id))),
  );

  app.post(
    PATH,
    {
      schema: {
        tags,
        summary: 'Hold the name of the zone',
        params: zoneParams,
        querystring: z.object({ include_subdomains: z.enum(['true', 'false']).optional() }),
        response,
      },
    },
    async (request) => {
      const inQuery = flagValue(queryOf(request), 'include_subdomains');
      const include = inQuery ?? (request.body ? bodyObject(request)['include_subdomains'] : undefined);
      return success(zoneHoldView(await createZoneHold(contextOf(request), request.params.zone_id, include)));
    },
  );

  app.patch(
    PATH,
    {
      schema: {
        tags,
        summary: 'Edit the hold',
        params: zoneParams,
        body: z
          .object({ hold_after: z.string().nullable().optional(), include_subdomains: z.boolean().optional() })
          .meta({ id: 'ZoneHoldEdit' }),
        response,
      },
    },
    async (request) =>
      success(zoneHoldView(await editZoneHold(contextOf(request), request.params.zone_id, bodyObject(request)))),
  );

  app.delete(
    PATH,
    {
      schema: {
        tags,
        summary: 'Take the hold off',
        params: zoneParams,
        querystring: z.object({ hold_after: time.optional() }),
        response,
      },
    },
    async (request) => {
      const holdAfter = textValue(queryOf(request), 'hold_after');
      return success(zoneHoldView(await deleteZoneHold(contextOf(request), request.params.zone_id, holdAfter)));
    },
  );
};
