/**
 * Routes of features that this service does not have but ordinary clients request (v4: §10.9, §14). They answer that
 * there is nothing, so that the client continues.
 */
import { z } from 'zod';
import { getZone } from '../../control/zones/zones.js';
import { success, successPage } from '../envelope.js';
import { failure } from '../errors.js';
import { pageOf, resultInfo, ZONE_PAGES } from '../paging.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { plan, zoneParams } from '../zones/schema.js';
import { PLAN } from '../zones/view.js';

/** Lists that are always empty. */
const EMPTY_LISTS = [
  { path: 'workers/routes', summary: 'List worker routes' },
  { path: 'addressing/regional_hostnames', summary: 'List regional hostnames' },
  { path: 'custom_certificates', summary: 'List uploaded certificates' },
];

export const unsupportedRoutes = routes({ tags: ['Unsupported'] }, (app) => {
  for (const { path, summary } of EMPTY_LISTS) {
    app.get(
      `/zones/:zone_id/${path}`,
      { area: 'zone', summary, params: zoneParams, list: z.unknown() },
      async (ctx, request) => {
        await getZone(ctx, request.params.zone_id);
        return successPage([], resultInfo(pageOf(queryOf(request), ZONE_PAGES), 0, 0));
      },
    );
  }

  app.open.post(
    '/accounts',
    { area: 'any', summary: 'Create an account: refused for everybody', answer: z.null() },
    async () => {
      throw failure('accountsOnServer');
    },
  );

  app.get(
    '/zones/:zone_id/available_plans',
    { area: 'zone', summary: 'List plans', params: zoneParams, list: plan },
    async (ctx, { params }) => {
      await getZone(ctx, params.zone_id);
      return success([PLAN]);
    },
  );
});
