/** `/user/permissions` (ours): what clients need not try. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { reachOf } from '../../control/access/reach.js';
import { sessionFacts } from '../../sign-in/facts.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { textValue } from '../query.js';
import { type ContextOf, callerOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { permissionQuery, permissions } from './schema.js';
import { permissionsView } from './view.js';

export const permissionRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf; signIn: SignInServices }> = async (
  app,
  { contextOf, signIn },
) => {
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
      const query = queryOf(request);
      const asked = { zoneId: textValue(query, 'zone_id'), accountId: textValue(query, 'account_id') };
      const facts = sessionFacts(signIn, callerOf(request).session);
      return success(permissionsView(await reachOf(contextOf(request), asked), facts));
    },
  );
};
