/** `/accounts/{account_id}/iam`: permission groups and resource groups, of which policies of members are made. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireAccount } from '../../control/guard/access.js';
import { findRole, ROLES } from '../../control/guard/roles.js';
import { peopleFailure } from '../../control/people/errors.js';
import {
  createResourceGroup,
  getResourceGroup,
  listResourceGroups,
  removeResourceGroup,
  replaceResourceGroup,
} from '../../control/people/resource-groups.js';
import { accountParams } from '../accounts/schema.js';
import { success, successPage } from '../envelope.js';
import { permissionGroup, resourceGroup } from '../members/schema.js';
import { labelOf, permissionGroupView, resourceGroupView } from '../members/view.js';
import { MEMBER_PAGES, pageOf, resultInfo, slicePage } from '../paging.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import {
  permissionGroupParams,
  permissionGroupQuery,
  resourceGroupBody,
  resourceGroupChange,
  resourceGroupParams,
  resourceGroupQuery,
} from './schema.js';

const tags = ['Members'];
const read = { area: 'members' } as const;
const write = { area: 'members', oneCommit: true } as const;

export const iamRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/accounts/:account_id/iam/permission_groups',
    {
      config: read,
      schema: {
        tags,
        summary: 'List permission groups',
        params: accountParams,
        querystring: permissionGroupQuery,
        response: answersList(permissionGroup),
      },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      const query = queryOf(request);
      const [id, name, label] = [textValue(query, 'id'), textValue(query, 'name'), textValue(query, 'label')];
      const found = ROLES.filter(
        (role) =>
          (id === undefined || role.id === id) &&
          (name === undefined || role.name === name) &&
          (label === undefined || labelOf(role.name) === label),
      );
      const page = pageOf(query, MEMBER_PAGES);
      const views = slicePage(found, page).map(permissionGroupView);
      return successPage(views, resultInfo(page, views.length, found.length));
    },
  );
  app.get(
    '/accounts/:account_id/iam/permission_groups/:permission_group_id',
    {
      config: read,
      schema: {
        tags,
        summary: 'Get a permission group',
        params: permissionGroupParams,
        response: answersOne(permissionGroup),
      },
    },
    async (request) => {
      const { account_id, permission_group_id: id } = request.params;
      requireAccount(contextOf(request), account_id);
      const found = findRole(id);
      if (!found) throw peopleFailure('permissionGroupMissing', { id });
      return success(permissionGroupView(found));
    },
  );
  addResourceGroups(app, contextOf);
};

function addResourceGroups(app: RouteScope, contextOf: ContextOf): void {
  const all = '/accounts/:account_id/iam/resource_groups';
  const single = `${all}/:resource_group_id`;
  const shown = answersOne(resourceGroup);
  app.get(
    all,
    {
      config: read,
      schema: {
        tags,
        summary: 'List resource groups',
        params: accountParams,
        querystring: resourceGroupQuery,
        response: answersOne(z.array(resourceGroup)),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const [id, name] = [textValue(query, 'id'), textValue(query, 'name')];
      const items = await listResourceGroups(contextOf(request), request.params.account_id);
      const isAsked = (item: { id: string; name: string }): boolean =>
        (id === undefined || item.id === id) && (name === undefined || item.name === name);
      return success(items.filter(isAsked).map(resourceGroupView));
    },
  );
  app.post(
    all,
    {
      config: write,
      schema: {
        tags,
        summary: 'Create a resource group',
        params: accountParams,
        body: resourceGroupBody,
        response: shown,
      },
    },
    async (request) =>
      success(
        resourceGroupView(await createResourceGroup(contextOf(request), request.params.account_id, request.body)),
      ),
  );
  app.get(
    single,
    { config: read, schema: { tags, summary: 'Get a resource group', params: resourceGroupParams, response: shown } },
    async (request) => {
      const { account_id, resource_group_id: id } = request.params;
      return success(resourceGroupView(await getResourceGroup(contextOf(request), account_id, id)));
    },
  );
  app.put(
    single,
    {
      config: write,
      schema: {
        tags,
        summary: 'Replace a resource group',
        params: resourceGroupParams,
        body: resourceGroupChange,
        response: shown,
      },
    },
    async (request) => {
      const { account_id, resource_group_id: id } = request.params;
      return success(resourceGroupView(await replaceResourceGroup(contextOf(request), account_id, id, request.body)));
    },
  );
  addDeletion(app, contextOf, single);
}

function addDeletion(
  app: RouteScope,
  contextOf: ContextOf,
  single: '/accounts/:account_id/iam/resource_groups/:resource_group_id',
): void {
  app.delete(
    single,
    {
      config: write,
      schema: { tags, summary: 'Delete a resource group', params: resourceGroupParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const { account_id, resource_group_id: id } = request.params;
      return success({ id: await removeResourceGroup(contextOf(request), account_id, id) });
    },
  );
}
