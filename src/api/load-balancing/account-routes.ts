/** `/accounts/{account_id}/load_balancers/…`: monitors, groups of them, pools, regions, search (v4: load balancing). */

import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { balancingFailure } from '../../control/balancing/errors.js';
import {
  createMonitorGroup,
  deleteMonitorGroup,
  editMonitorGroup,
  getMonitorGroup,
  listMonitorGroups,
  replaceMonitorGroup,
} from '../../control/balancing/monitor-groups.js';
import { referencesOfGroup, referencesOfMonitor, referencesOfPool } from '../../control/balancing/references.js';
import { searchBalancing } from '../../control/balancing/search.js';
import { parseId, requireAccount } from '../../control/guard/access.js';
import { findAccountById } from '../../store/access/accounts.js';
import { usedOfAccount } from '../../store/access/quotas.js';
import type { Store } from '../../store/driver.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { pageOf, resultInfo } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answers, answersList, answersOne, envelope } from '../schema.js';
import { monitorResource, poolResource, poolsEditing } from './kinds.js';
import { addRegions } from './region-routes.js';
import { balancingResource, onePage, tags } from './resource-routes.js';
import {
  group,
  groupBody,
  groupEdit,
  groupParams,
  monitorParams,
  poolParams,
  reference,
  searchQuery,
  searchResult,
} from './schema.js';
import { groupView } from './view.js';

const BASE = '/accounts/:account_id/load_balancers';
const read = { area: 'loadBalancing', objectState: 'read' } as const;
const write = { area: 'loadBalancing', objectState: 'write', oneCommit: true } as const;
/** Makes several commits. */
const writeAll = { area: 'loadBalancing', objectState: 'write' } as const;
const config = { read, write };
/** Objects of an account that are shown within a turn of the event loop. */
const FEW = 300;
const SEARCH_PAGES = { usual: 20, most: 100 };

const accountOf = (_: unknown, request: FastifyRequest): string =>
  (request.params as { readonly account_id: string }).account_id;

/** Whether an account has so many monitors, pools and load balancers that a thread of its own reads them. */
function isLong(request: FastifyRequest, store: Store): boolean {
  const id = parseId(accountOf(undefined, request));
  const account = id && findAccountById(store, id);
  return account !== undefined && usedOfAccount(store, account.seq, 'balancing') > FEW;
}

export interface BalancingRouteOptions {
  readonly contextOf: ContextOf;
}

export const balancingAccountRoutes: FastifyPluginAsyncZod<BalancingRouteOptions> = async (app, { contextOf }) => {
  balancingResource(app, contextOf, {
    ...monitorResource,
    ...{ path: `${BASE}/monitors`, params: [accountParams, monitorParams], ofWhat: accountOf, config, isLong },
  });
  balancingResource(app, contextOf, {
    ...poolResource,
    ...{ path: `${BASE}/pools`, params: [accountParams, poolParams], ofWhat: accountOf, config, isLong },
  });
  poolsEditing(app, contextOf, { path: `${BASE}/pools`, params: accountParams, ofWhat: accountOf, config: writeAll });
  balancingResource(app, contextOf, {
    ...{ path: `${BASE}/monitor_groups`, id: 'monitor_group_id', params: [accountParams, groupParams] },
    ...{ one: 'a group of monitors', many: 'groups of monitors', ofWhat: accountOf, config, isLong },
    ...{ item: group, body: groupBody, edit: groupEdit, view: groupView },
    ...{ list: listMonitorGroups, get: getMonitorGroup, create: createMonitorGroup },
    ...{ replace: replaceMonitorGroup, change: editMonitorGroup, remove: deleteMonitorGroup },
  });
  addReferences(app, contextOf);
  addSearch(app, contextOf);
  addRegions(app, contextOf, BASE);
  addAccountBalancers(app, contextOf);
};

function addReferences(app: RouteScope, contextOf: ContextOf): void {
  for (const [path, params, of, name] of [
    ['monitors/:monitor_id', monitorParams, referencesOfMonitor, 'a monitor'],
    ['monitor_groups/:monitor_group_id', groupParams, referencesOfGroup, 'a group of monitors'],
    ['pools/:pool_id', poolParams, referencesOfPool, 'a pool'],
  ] as const) {
    app.get(
      `${BASE}/${path}/references`,
      {
        config: { area: 'loadBalancing' },
        schema: { tags, summary: `List what refers to ${name}`, params, response: answersList(reference) },
      },
      async (request) => {
        const { account_id: account, ...ids } = request.params as Record<string, string>;
        return onePage([...(await of(contextOf(request), account!, Object.values(ids)[0]!))]);
      },
    );
  }
}

function addSearch(app: RouteScope, contextOf: ContextOf): void {
  app.get(
    `${BASE}/search`,
    {
      config: { area: 'loadBalancing', readsLong: isLong },
      schema: {
        ...{ tags, summary: 'Search load balancers, pools and monitors', params: accountParams },
        ...{
          querystring: searchQuery,
          response: answers(envelope(searchResult).extend({ result_info: z.unknown().optional() })),
        },
      },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, SEARCH_PAGES);
      const found = await searchBalancing(contextOf(request), request.params.account_id, {
        query: textValue(query, 'query') ?? '',
        references: choiceValue(query, 'references', ['', '*', 'referral', 'referrer']) ?? '',
        ...page,
      });
      const resources = found.items.map((item) => ({ ...item, references: [...item.references] }));
      // The vendor's client looks for a page of such lists.
      const items = resources.length === 0 ? [] : [{ resources }];
      return { ...success({ resources, items }), result_info: resultInfo(page, resources.length, found.totalCount) };
    },
  );
}

/** Load balancers of an account that belong to no zone: there are none (v4). */
function addAccountBalancers(app: RouteScope, contextOf: ContextOf): void {
  const schema = { tags, params: accountParams };
  app.get(
    BASE,
    {
      config: { area: 'loadBalancing' },
      schema: { ...schema, summary: 'List load balancers without a zone', response: answersList(z.unknown()) },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      return onePage([]);
    },
  );
  app.post(
    BASE,
    {
      config: { area: 'loadBalancing' },
      schema: { ...schema, summary: 'Refused: load balancers belong to zones', response: answersOne(z.unknown()) },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      throw balancingFailure('noAccountBalancers');
    },
  );
}
