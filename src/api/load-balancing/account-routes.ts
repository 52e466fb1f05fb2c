/** `/accounts/{account_id}/load_balancers/…`: monitors, groups of them, pools, regions, search (v4: load balancing). */

import type { FastifyRequest } from 'fastify';
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
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { answers, envelope } from '../schema.js';
import { monitorsAndPools, objectConfig, poolsEditing, referencesListing } from './kinds.js';
import { addRegions } from './region-routes.js';
import { balancingResource } from './resource-routes.js';
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

export const balancingAccountRoutes = routes({ tags: ['Load balancing'], area: 'loadBalancing' }, (app) => {
  monitorsAndPools(app, OF_ACCOUNT, isLong);
  poolsEditing(app, OF_ACCOUNT);
  balancingResource(app, {
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
  referencesListing(app, OF_ACCOUNT, [
    { ...groups, params: groupParams, one: 'a group of monitors', of: referencesOfGroup },
  ]);
  app.get(
    `${BASE}/search`,
    {
      readsLong: isLong,
      summary: 'Search load balancers, pools and monitors',
      params: accountParams,
      querystring: searchQuery,
      response: answers(envelope(searchResult).extend({ result_info: z.unknown().optional() })),
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, SEARCH_PAGES);
      const found = await searchBalancing(ctx, request.params.account_id, {
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
  addRegions(app, BASE);
  addAccountBalancers(app);
});

/** Load balancers of an account that belong to no zone: there are none (v4). */
function addAccountBalancers(app: Routes): void {
  const schema = { params: accountParams };
  app.get(
    BASE,
    { ...schema, summary: 'List load balancers without a zone', list: z.unknown() },
    async (ctx, { params }) => {
      requireAccount(ctx, params.account_id);
      return onePage([]);
    },
  );
  app.post(
    BASE,
    { ...schema, summary: 'Refused: load balancers belong to zones', answer: z.unknown() },
    async (ctx, { params }) => {
      requireAccount(ctx, params.account_id);
      throw balancingFailure('noAccountBalancers');
    },
  );
}
