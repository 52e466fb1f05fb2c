/** `/user/permissions` (ours): what clients need not try. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { reachOf } from '../../control/access/reach.js';
import { success } from '../envelope.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { permissionQuery, permissions } from './schema.js';
import { permissionsView } from './view.js';

export const permissionRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/user/permissions',
    {
      config: { area: 'any', enrols: true },
      schema: {
        tags: ['User'],
        summary: 'What the credential may do',
        querystring: permissionQuery,
        response: answersOne(permissions),
      },
    },
    async (request) => {
      const zoneId = textValue(queryOf(request), 'zone_id');
      return success(permissionsView(await reachOf(contextOf(request), zoneId)));
    },
  );
};
