/** `/zones/{zone_id}/custom_hostnames`: list custom hostnames (v4: §10.5). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { listHostnames } from '../../hostnames/list.js';
import { successPage } from '../envelope.js';
import { HOSTNAME_PAGES, pageOf, resultInfo } from '../paging.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersList } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { hostnameFilter } from './filter.js';
import { customHostname, hostnameQuery } from './schema.js';
import { hostnameView } from './view.js';

const tags = ['Custom hostnames'];
export const LIST = '/zones/:zone_id/custom_hostnames';

export const hostnameListRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    LIST,
    {
      config: { area: 'certificates', readsLong: true },
      schema: {
        tags,
        summary: 'List custom hostnames',
        params: zoneParams,
        querystring: hostnameQuery,
        response: answersList(customHostname),
      },
    },
    async (request) => {
      const page = pageOf(queryOf(request), HOSTNAME_PAGES);
      const query = { ...hostnameFilter(queryOf(request)), ...page };
      const found = await listHostnames(contextOf(request), request.params.zone_id, query);
      const views = found.items.map(hostnameView);
      return successPage(views, resultInfo(page, views.length, found.totalCount));
    },
  );
};
