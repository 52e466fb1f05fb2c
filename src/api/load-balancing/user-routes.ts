/** `/user/load_balancers/…`: monitors and pools of the caller's only account, for older clients (v4: load balancing). */

import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireOnlyAccount } from '../../control/balancing/only-account.js';
import type { Context } from '../../control/kernel/context.js';
import type { ContextOf } from '../request.js';
import { monitorResource, poolResource, poolsEditing } from './kinds.js';
import { balancingResource } from './resource-routes.js';
import { ownMonitorParams, ownPoolParams } from './schema.js';

const BASE = '/user/load_balancers';
const read = { area: 'loadBalancing', objectState: 'read' } as const;
const write = { area: 'loadBalancing', objectState: 'write', oneCommit: true } as const;
/** Makes several commits. */
const writeAll = { area: 'loadBalancing', objectState: 'write' } as const;
const config = { read, write };
const none = z.object({});

const onlyAccount = (ctx: Context, { method }: FastifyRequest): string =>
  requireOnlyAccount(ctx, method === 'GET' ? 'read' : 'write');

export const balancingUserRoutes: FastifyPluginAsyncZod<{ readonly contextOf: ContextOf }> = async (
  app,
  { contextOf },
) => {
  balancingResource(app, contextOf, {
    ...monitorResource,
    ...{ path: `${BASE}/monitors`, params: [none, ownMonitorParams], ofWhat: onlyAccount, config },
  });
  balancingResource(app, contextOf, {
    ...poolResource,
    ...{ path: `${BASE}/pools`, params: [none, ownPoolParams], ofWhat: onlyAccount, config },
  });
  poolsEditing(app, contextOf, { path: `${BASE}/pools`, params: none, ofWhat: onlyAccount, config: writeAll });
};
