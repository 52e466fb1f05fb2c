/** `/zones/{zone_id}/history`: lists changes and restores past states (ours). */
import { getEdit, listHistory, restoreZone } from '../../control/zones/history.js';
import { successPage } from '../envelope.js';
import { HISTORY_PAGES, pageOf, resultInfo } from '../paging.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { editParams, historyQuery, zoneEdit, zoneRestore } from './schema.js';
import { zoneEditView, zoneRestoreView } from './view.js';

const PATH = '/zones/:zone_id/history';

export const zoneHistoryRoutes = routes({ tags: ['Zone history'], area: 'dns' }, (app) => {
  app.get(
    PATH,
    {
      readsLong: true,
      summary: 'List changes, newest first',
      params: zoneParams,
      querystring: historyQuery,
      list: zoneEdit,
    },
    async (ctx, request) => {
      const page = pageOf(queryOf(request), HISTORY_PAGES);
      const { items, totalCount } = await listHistory(ctx, request.params.zone_id, page);
      return successPage(items.map(zoneEditView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    `${PATH}/:change`,
    { readsLong: true, summary: 'Get one change', params: editParams, answer: zoneEdit },
    async (ctx, { params: { zone_id: zoneId, change } }) => zoneEditView(await getEdit(ctx, zoneId, change)),
  );

  app.post(
    `${PATH}/:change/restore`,
    {
      zoneState: 'write',
      summary: 'Restore the records to the state right after a change',
      params: editParams,
      answer: zoneRestore,
    },
    async (ctx, { params: { zone_id: zoneId, change } }) => zoneRestoreView(await restoreZone(ctx, zoneId, change)),
  );
});
