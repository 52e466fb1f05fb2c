/** `/user/permissions` (ours): what clients need not try. */
import { reachOf } from '../../control/access/reach.js';
import { sessionFacts } from '../../sign-in/facts.js';
import type { SignInServices } from '../../sign-in/services.js';
import { textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { permissionQuery, permissions } from './schema.js';
import { permissionsView } from './view.js';

export const permissionRoutes: AddRoutes<{ signIn: SignInServices }> = (app, { signIn }) => {
  app.get(
    '/user/permissions',
    {
      area: 'any',
      enrols: true,
      tags: ['User'],
      summary: 'What the credential may do',
      querystring: permissionQuery,
      answer: permissions,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const asked = { zoneId: textValue(query, 'zone_id'), accountId: textValue(query, 'account_id') };
      const facts = sessionFacts(signIn, callerOf(request).session);
      return permissionsView(await reachOf(ctx, asked), facts);
    },
  );
};
