/**
 * Routes of features that this service does not have but ordinary clients request (v4: §10.9, §14). They answer that
 * there is nothing, so that the client continues.
 */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { getZone } from '../../control/zones/zones.js';
import { success, successPage } from '../envelope.js';
import { failure } from '../errors.js';
import { pageOf, resultInfo, ZONE_PAGES } from '../paging.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { plan, zoneParams } from '../zones/schema.js';
import { PLAN } from '../zones/view.js';

const tags = ['Unsupported'];

/** Lists that are always empty. */
const EMPTY_LISTS = [
  { path: 'workers/routes', summary: 'List worker routes' },
  { path: 'addressing/regional_hostnames', summary: 'List regional hostnames' },
  { path: 'custom_certificates', summary: 'List uploaded certificates' },
];

export const unsupportedRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  for (const { path, summary } of EMPTY_LISTS) {
    app.get(
      `/zones/:zone_id/${path}`,
      { config: { area: 'zone' }, schema: { tags, summary, params: zoneParams, response: answersList(z.unknown()) } },
      async (request) => {
        await getZone(contextOf(request), request.params.zone_id);
        return successPage([], resultInfo(pageOf(queryOf(request), ZONE_PAGES), 0, 0));
      },
    );
  }

  app.post(
    '/accounts',
    {
      config: { area: 'any' },
      schema: { tags, summary: 'Create an account: refused for everybody', response: answersOne(z.null()) },
    },
    async () => {
      throw failure('accountsOnServer');
    },
  );

  app.get(
    '/zones/:zone_id/available_plans',
    {
      config: { area: 'zone' },
      schema: { tags, summary: 'List plans', params: zoneParams, response: answersList(plan) },
    },
    async (request) => {
      await getZone(contextOf(request), request.params.zone_id);
      return success([PLAN]);
    },
  );
};
