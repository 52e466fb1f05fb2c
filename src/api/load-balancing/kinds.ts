/** Monitors and pools, which have routes below accounts and, for older clients, below the user. */

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
import { type Reference, referencesOfMonitor, referencesOfPool } from '../../control/balancing/references.js';
import type { Context } from '../../control/kernel/context.js';
import { onePage } from '../paging.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { Routes } from '../routing/route.js';
import { type BalancingResource, balancingResource } from './resource-routes.js';
import {
  monitor,
  monitorBody,
  monitorParams,
  pool,
  poolBody,
  poolEdit,
  poolParams,
  poolsEdit,
  reference,
} from './schema.js';
import type { BalancingScope } from './scope.js';
import { itemView, poolView } from './view.js';

type Kind = Omit<BalancingResource, 'path' | 'params' | 'ofWhat' | 'config'>;

/** Objects of an account have entity tags of their own. */
export const objectConfig = {
  read: { objectState: 'read' },
  write: { objectState: 'write', oneCommit: true },
} as const;

const monitorKind: Kind = {
  ...{ id: 'monitor_id', one: 'a monitor', many: 'monitors' },
  ...{ item: monitor, body: monitorBody, edit: monitorBody, view: itemView },
  ...{ list: listMonitors, get: getMonitor, create: createMonitor },
  ...{ replace: replaceMonitor, change: editMonitor, remove: deleteMonitor },
};

const poolKind: Kind = {
  ...{ id: 'pool_id', one: 'a pool', many: 'pools' },
  querystring: z.object({ monitor: z.string().optional().describe('Only pools with this monitor') }),
  ...{ item: pool, body: poolBody, edit: poolEdit, view: poolView },
  list: (ctx, account, request) => listPools(ctx, account, textValue(queryOf(request), 'monitor') || undefined),
  ...{ get: getPool, create: createPool, replace: replacePool, change: editPool, remove: deletePool },
};

/** The routes of monitors and of pools. `isLong`: whether a list is so long that a thread of its own reads it. */
export function monitorsAndPools(
  app: Routes,
  { base, params, accountOf: ofWhat }: BalancingScope,
  isLong?: NonNullable<BalancingResource['isLong']>,
): void {
  const shared = { ofWhat, config: objectConfig, ...(isLong && { isLong }) };
  balancingResource(app, {
    ...{ ...monitorKind, ...shared, path: `${base}/monitors`, params: [params, params.extend(monitorParams.shape)] },
  });
  balancingResource(app, {
    ...{ ...poolKind, ...shared, path: `${base}/pools`, params: [params, params.extend(poolParams.shape)] },
  });
}

/** Edits all pools of an account, in several commits. */
export function poolsEditing(app: Routes, { base, params, accountOf }: BalancingScope): void {
  app.patch(
    `${base}/pools`,
    { objectState: 'write', summary: 'Edit all pools', params, body: poolsEdit, list: pool },
    async (ctx, request) =>
      onePage((await editPools(ctx, accountOf(ctx, request), request.body as Members)).map(poolView)),
  );
}

/** What is listed around one object. */
export interface ReferencesOf {
  readonly path: string;
  readonly id: string;
  /** Parameters besides those of the base. */
  readonly params: z.ZodObject;
  readonly one: string;
  readonly of: (ctx: Context, account: string, id: string) => Promise<readonly Reference[]>;
}

const REFERENCES: readonly ReferencesOf[] = [
  { path: 'monitors', id: 'monitor_id', params: monitorParams, one: 'a monitor', of: referencesOfMonitor },
  { path: 'pools', id: 'pool_id', params: poolParams, one: 'a pool', of: referencesOfPool },
];

/** Lists what refers to monitors and pools, and to what they refer; also for `more` kinds of objects. */
export function referencesListing(
  app: Routes,
  { base, params, accountOf }: BalancingScope,
  more: readonly ReferencesOf[] = [],
): void {
  for (const { path, id, params: own, one, of } of [...REFERENCES, ...more]) {
    const schema = { summary: `List what refers to ${one}`, params: params.extend(own.shape) };
    app.get(`${base}/${path}/:${id}/references`, { ...schema, list: reference }, async (ctx, request) =>
      onePage(
        [...(await of(ctx, accountOf(ctx, request), (request.params as Record<string, string>)[id]!))],
        queryOf(request),
      ),
    );
  }
}
