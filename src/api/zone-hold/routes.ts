/** `/zones/{zone_id}/hold` (v4: §4). */
import { createZoneHold, deleteZoneHold, editZoneHold, getZoneHold } from '../../control/zones/hold.js';
import { flagValue, textValue } from '../query.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { zoneHold, zoneHoldCreation, zoneHoldEdit, zoneHoldQuery, zoneHoldRelease } from './schema.js';
import { zoneHoldView } from './view.js';

const PATH = '/zones/:zone_id/hold';

export const zoneHoldRoutes = routes({ tags: ['Zone holds'], area: 'zone' }, (app) => {
  app.get(
    PATH,
    { zoneState: 'read', summary: 'Get the hold', params: zoneParams, answer: zoneHold },
    async (ctx, { params }) => zoneHoldView(await getZoneHold(ctx, params.zone_id)),
  );

  app.post(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Hold the name of the zone',
      params: zoneParams,
      querystring: zoneHoldQuery,
      body: zoneHoldCreation,
      answer: zoneHold,
    },
    async (ctx, request) => {
      const inQuery = flagValue(queryOf(request), 'include_subdomains');
      const include = inQuery ?? request.body?.include_subdomains ?? false;
      return zoneHoldView(await createZoneHold(ctx, request.params.zone_id, include));
    },
  );

  app.patch(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Edit the hold',
      params: zoneParams,
      body: zoneHoldEdit,
      answer: zoneHold,
    },
    async (ctx, { params, body }) => zoneHoldView(await editZoneHold(ctx, params.zone_id, body)),
  );

  app.delete(
    PATH,
    {
      zoneState: 'write',
      oneCommit: true,
      summary: 'Remove the hold',
      params: zoneParams,
      querystring: zoneHoldRelease,
      answer: zoneHold,
    },
    async (ctx, request) => {
      const holdAfter = textValue(queryOf(request), 'hold_after');
      return zoneHoldView(await deleteZoneHold(ctx, request.params.zone_id, holdAfter));
    },
  );
});
