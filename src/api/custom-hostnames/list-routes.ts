/** `/zones/{zone_id}/custom_hostnames`: list custom hostnames (v4: §10.5). */
import { listHostnames } from '../../hostnames/list.js';
import { successPage } from '../envelope.js';
import { HOSTNAME_PAGES, pageOf, resultInfo } from '../paging.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { hostnameFilter } from './filter.js';
import { customHostname, hostnameQuery } from './schema.js';
import { hostnameView } from './view.js';

const tags = ['Custom hostnames'];
export const LIST = '/zones/:zone_id/custom_hostnames';

export const hostnameListRoutes: AddRoutes = (app) => {
  app.get(
    LIST,
    {
      area: 'certificates',
      readsLong: true,
      tags,
      summary: 'List custom hostnames',
      params: zoneParams,
      querystring: hostnameQuery,
      list: customHostname,
    },
    async (ctx, request) => {
      const page = pageOf(queryOf(request), HOSTNAME_PAGES);
      const query = { ...hostnameFilter(queryOf(request)), ...page };
      const found = await listHostnames(ctx, request.params.zone_id, query);
      const views = found.items.map(hostnameView);
      return successPage(views, resultInfo(page, views.length, found.totalCount));
    },
  );
};
