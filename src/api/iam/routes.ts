/** `/accounts/{account_id}/iam`: permission groups and resource groups, of which policies of members are made. */
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
import { permissionGroup, resourceGroup } from '../members/schema.js';
import { labelOf, permissionGroupView, resourceGroupView } from '../members/view.js';
import { MEMBER_PAGES, pageFrom } from '../paging.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import { accountResource } from '../routing/resource.js';
import { routes } from '../routing/route.js';
import { namedSo } from './query.js';
import {
  permissionGroupParams,
  permissionGroupQuery,
  resourceGroupBody,
  resourceGroupChange,
  resourceGroupParams,
  resourceGroupQuery,
} from './schema.js';

export const iamRoutes = routes({ tags: ['Members'], area: 'members' }, (app) => {
  app.get(
    '/accounts/:account_id/iam/permission_groups',
    {
      summary: 'List permission groups',
      params: accountParams,
      querystring: permissionGroupQuery,
      list: permissionGroup,
    },
    async (ctx, request) => {
      requireAccount(ctx, request.params.account_id);
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
    { summary: 'Get a permission group', params: permissionGroupParams, answer: permissionGroup },
    async (ctx, { params: { account_id, permission_group_id: id } }) => {
      requireAccount(ctx, account_id);
      const found = findRole(id);
      if (!found) throw peopleFailure('permissionGroupMissing', { id });
      return permissionGroupView(found);
    },
  );
  accountResource(app, {
    ...{ isPaged: false, oneCommit: true },
    ...{ path: 'iam/resource_groups', id: 'resource_group_id', one: 'a resource group', many: 'resource groups' },
    ...{ params: resourceGroupParams, item: resourceGroup, query: resourceGroupQuery, view: resourceGroupView },
    ...{ body: resourceGroupBody, change: resourceGroupChange },
    ...{ create: createResourceGroup, get: getResourceGroup, replace: replaceResourceGroup },
    list: async (ctx, account, query) => namedSo(query, await listResourceGroups(ctx, account)),
    remove: removeResourceGroup,
  });
});
