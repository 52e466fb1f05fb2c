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
import { referencesOfGroup } from '../../control/balancing/references.js';
import { searchBalancing } from '../../control/balancing/search.js';
import { parseId, requireAccount } from '../../control/guard/access.js';
import { findAccountById } from '../../store/access/accounts.js';
import { usedOfAccount } from '../../store/access/quotas.js';
import type { Store } from '../../store/driver.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { onePage, pageOf, resultInfo } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answers, answersList, answersOne, envelope } from '../schema.js';
import { monitorsAndPools, objectConfig, poolsEditing, referencesListing } from './kinds.js';
import { addRegions } from './region-routes.js';
import { balancingResource, tags } from './resource-routes.js';
import { group, groupBody, groupEdit, groupParams, searchQuery, searchResult } from './schema.js';
import { OF_ACCOUNT } from './scope.js';
import { groupView } from './view.js';

const { base: BASE, accountOf } = OF_ACCOUNT;
const groups = { path: 'monitor_groups', id: 'monitor_group_id' };
/** Objects of an account that are shown in one turn of the event loop: this many pools of 200 origins take 10 ms. */
const FEW = 60;
const SEARCH_PAGES = { usual: 20, most: 100 };

/** Whether an account has so many monitors, pools and load balancers that a thread of its own reads them. */
function isLong(request: FastifyRequest, store: Store): boolean {
  const id = parseId((request.params as { readonly account_id: string }).account_id);
  const account = id && findAccountById(store, id);
  return account !== undefined && usedOfAccount(store, account.seq, 'balancing') > FEW;
}

export interface BalancingRouteOptions {
  readonly contextOf: ContextOf;
}

export const balancingAccountRoutes: FastifyPluginAsyncZod<BalancingRouteOptions> = async (app, { contextOf }) => {
  monitorsAndPools(app, contextOf, OF_ACCOUNT, isLong);
  poolsEditing(app, contextOf, OF_ACCOUNT);
  balancingResource(app, contextOf, {
    ...{
      path: `${BASE}/${groups.path}`,
      id: groups.id,
      params: [accountParams, accountParams.extend(groupParams.shape)],
    },
    ...{ one: 'a group of monitors', many: 'groups of monitors', ofWhat: accountOf, config: objectConfig, isLong },
    ...{ item: group, body: groupBody, edit: groupEdit, view: groupView },
    ...{ list: listMonitorGroups, get: getMonitorGroup, create: createMonitorGroup },
    ...{ replace: replaceMonitorGroup, change: editMonitorGroup, remove: deleteMonitorGroup },
  });
  referencesListing(app, contextOf, OF_ACCOUNT, [
    { ...groups, params: groupParams, one: 'a group of monitors', of: referencesOfGroup },
  ]);
  addSearch(app, contextOf);
  addRegions(app, contextOf, BASE);
  addAccountBalancers(app, contextOf);
};

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
