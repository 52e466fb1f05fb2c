/** `/accounts/{account_id}/iam`: permission groups and resource groups, of which policies of members are made. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success } from '../envelope.js';
import { permissionGroup, resourceGroup } from '../members/schema.js';
import { labelOf, permissionGroupView, resourceGroupView } from '../members/view.js';
import { MEMBER_PAGES, pageFrom } from '../paging.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { accountResource } from '../resource.js';
import { answersList, answersOne } from '../schema.js';
import { namedSo } from './query.js';
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
      return pageFrom(query, MEMBER_PAGES, found, permissionGroupView);
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
  accountResource(app, contextOf, {
    ...{ tags, isPaged: false, oneCommit: true, area: 'members' },
    ...{ path: 'iam/resource_groups', id: 'resource_group_id', one: 'a resource group', many: 'resource groups' },
    ...{ params: resourceGroupParams, item: resourceGroup, query: resourceGroupQuery, view: resourceGroupView },
    ...{ body: resourceGroupBody, change: resourceGroupChange },
    ...{ create: createResourceGroup, get: getResourceGroup, replace: replaceResourceGroup },
    list: async (ctx, account, query) => namedSo(query, await listResourceGroups(ctx, account)),
    remove: removeResourceGroup,
  });
};
