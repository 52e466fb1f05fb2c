/** `/zones/{zone_id}/history`: lists changes and restores past states (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { getEdit, listHistory, restoreZone } from '../../control/zones/history.js';
import { success, successPage } from '../envelope.js';
import { HISTORY_PAGES, pageOf, resultInfo } from '../paging.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { editParams, historyQuery, zoneEdit, zoneRestore } from './schema.js';
import { zoneEditView, zoneRestoreView } from './view.js';

const tags = ['Zone history'];
const PATH = '/zones/:zone_id/history';

export const zoneHistoryRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    PATH,
    {
      config: { area: 'dns', readsLong: true },
      schema: {
        tags,
        summary: 'List changes, newest first',
        params: zoneParams,
        querystring: historyQuery,
        response: answersList(zoneEdit),
      },
    },
    async (request) => {
      const page = pageOf(queryOf(request), HISTORY_PAGES);
      const { items, totalCount } = await listHistory(contextOf(request), request.params.zone_id, page);
      return successPage(items.map(zoneEditView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    `${PATH}/:change`,
    {
      config: { area: 'dns', readsLong: true },
      schema: { tags, summary: 'Get one change', params: editParams, response: answersOne(zoneEdit) },
    },
    async (request) => {
      const { zone_id: zoneId, change } = request.params;
      return success(zoneEditView(await getEdit(contextOf(request), zoneId, change)));
    },
  );

  app.post(
    `${PATH}/:change/restore`,
    {
      config: { area: 'dns', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Restore the records to the state right after a change',
        params: editParams,
        response: answersOne(zoneRestore),
      },
    },
    async (request) => {
      const { zone_id: zoneId, change } = request.params;
      return success(zoneRestoreView(await restoreZone(contextOf(request), zoneId, change)));
    },
  );
};
