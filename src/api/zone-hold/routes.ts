/** `/zones/{zone_id}/hold` (v4: §4). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { createZoneHold, deleteZoneHold, editZoneHold, getZoneHold } from '../../control/zones/hold.js';
import { success } from '../envelope.js';
import { flagValue, textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { zoneHold, zoneHoldCreation, zoneHoldEdit, zoneHoldQuery, zoneHoldRelease } from './schema.js';
import { zoneHoldView } from './view.js';

const tags = ['Zone holds'];
const PATH = '/zones/:zone_id/hold';

const response = answersOne(zoneHold);

export const zoneHoldRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    {
      config: { area: 'zone', zoneState: 'read' },
      schema: { tags, summary: 'Get the hold', params: zoneParams, response },
    },
    async (request) => success(zoneHoldView(await getZoneHold(contextOf(request), request.params.zone_id))),
  );

  app.post(
    PATH,
    {
      config: { area: 'zone', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Hold the name of the zone',
        params: zoneParams,
        querystring: zoneHoldQuery,
        body: zoneHoldCreation,
        response,
      },
    },
    async (request) => {
      const inQuery = flagValue(queryOf(request), 'include_subdomains');
      const include = inQuery ?? request.body?.include_subdomains ?? false;
      return success(zoneHoldView(await createZoneHold(contextOf(request), request.params.zone_id, include)));
    },
  );

  app.patch(
    PATH,
    {
      config: { area: 'zone', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Edit the hold',
        params: zoneParams,
        body: zoneHoldEdit,
        response,
      },
    },
    async (request) =>
      success(zoneHoldView(await editZoneHold(contextOf(request), request.params.zone_id, request.body))),
  );

  app.delete(
    PATH,
    {
      config: { area: 'zone', zoneState: 'write', oneCommit: true },
      schema: {
        tags,
        summary: 'Remove the hold',
        params: zoneParams,
        querystring: zoneHoldRelease,
        response,
      },
    },
    async (request) => {
      const holdAfter = textValue(queryOf(request), 'hold_after');
      return success(zoneHoldView(await deleteZoneHold(contextOf(request), request.params.zone_id, holdAfter)));
    },
  );
};
