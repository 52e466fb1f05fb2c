/** Monitors and pools, which have routes below accounts and, for older clients, below the user. */
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Members } from '../../balancing/members.js';
import {
  createMonitor,
  deleteMonitor,
  editMonitor,
  getMonitor,
  listMonitors,
  replaceMonitor,
} from '../../control/balancing/monitors.js';
import {
  createPool,
  deletePool,
  editPool,
  editPools,
  getPool,
  listPools,
  replacePool,
} from '../../control/balancing/pools.js';
import type { Context } from '../../control/kernel/context.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList } from '../schema.js';
import { type BalancingResource, onePage, tags } from './resource-routes.js';
import { monitor, monitorBody, pool, poolBody, poolEdit, poolsEdit } from './schema.js';
import { itemView, poolView } from './view.js';

type Kind = Omit<BalancingResource, 'path' | 'params' | 'ofWhat' | 'config'>;

export const monitorResource: Kind = {
  ...{ id: 'monitor_id', one: 'a monitor', many: 'monitors' },
  ...{ item: monitor, body: monitorBody, edit: monitorBody, view: itemView },
  ...{ list: listMonitors, get: getMonitor, create: createMonitor },
  ...{ replace: replaceMonitor, change: editMonitor, remove: deleteMonitor },
};

export const poolResource: Kind = {
  ...{ id: 'pool_id', one: 'a pool', many: 'pools' },
  querystring: z.object({ monitor: z.string().optional().describe('Only pools with this monitor') }),
  ...{ item: pool, body: poolBody, edit: poolEdit, view: poolView },
  list: (ctx, account, request) => listPools(ctx, account, textValue(queryOf(request), 'monitor') || undefined),
  ...{ get: getPool, create: createPool, replace: replacePool, change: editPool, remove: deletePool },
};

export interface PoolsEditing {
  readonly path: string;
  readonly params: z.ZodType;
  readonly ofWhat: (ctx: Context, request: FastifyRequest) => string;
  readonly config: FastifyContextConfig;
}

/** Edits all pools of an account. */
export function poolsEditing(
  app: RouteScope,
  contextOf: ContextOf,
  { path, params, ofWhat, config }: PoolsEditing,
): void {
  app.patch(
    path,
    { config, schema: { tags, summary: 'Edit all pools', params, body: poolsEdit, response: answersList(pool) } },
    async (request) => {
      const ctx = contextOf(request);
      return onePage((await editPools(ctx, ofWhat(ctx, request), request.body as Members)).map(poolView));
    },
  );
}
