/** `/accounts/{account_id}/iam/user_groups`: members who share policies. */
import type { GroupMemberItem, UserGroupItem } from '../../control/people/item.js';
import {
  createUserGroup,
  getGroupMember,
  getUserGroup,
  listGroupMembers,
  listUserGroups,
  removeGroupMember,
  removeUserGroup,
  replaceUserGroup,
  setGroupMembers,
} from '../../control/people/user-groups.js';
import { policyView } from '../members/view.js';
import { MEMBER_PAGES, onePage, pageFrom } from '../paging.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import { accountResource } from '../routing/resource.js';
import { type Routes, routes } from '../routing/route.js';
import { printTime } from '../times.js';
import { matching, namedSo } from './query.js';
import {
  type GroupMemberView,
  groupMemberListed,
  groupMemberParams,
  groupMemberQuery,
  groupMemberShown,
  groupMembersBody,
  type UserGroupView,
  userGroup,
  userGroupBody,
  userGroupChange,
  userGroupParams,
  userGroupQuery,
} from './schema.js';

const SINGLE = '/accounts/:account_id/iam/user_groups/:user_group_id';

export const userGroupRoutes = routes({ tags: ['Members'], area: 'members' }, (app) => {
  accountResource(app, {
    ...{ isPaged: MEMBER_PAGES, oneCommit: true },
    ...{ path: 'iam/user_groups', id: 'user_group_id', one: 'a user group', many: 'user groups' },
    ...{ params: userGroupParams, item: userGroup, query: userGroupQuery, view: groupView },
    ...{ body: userGroupBody, change: userGroupChange },
    ...{ create: createUserGroup, get: getUserGroup, replace: replaceUserGroup, remove: removeUserGroup },
    async list(ctx, account, query) {
      const found = namedSo(query, await listUserGroups(ctx, account));
      return matching(query, found, ({ name }) => name, textValue(query, 'fuzzyName'));
    },
  });
  addMembers(app);
});

function addMembers(app: Routes): void {
  const all = `${SINGLE}/members`;
  app.get(
    all,
    {
      summary: 'List the members of a user group',
      params: userGroupParams,
      querystring: groupMemberQuery,
      list: groupMemberListed,
    },
    async (ctx, request) => {
      const { account_id, user_group_id: id } = request.params;
      const query = queryOf(request);
      const all = await listGroupMembers(ctx, account_id, id);
      const items = matching(query, all, ({ email }) => email, textValue(query, 'fuzzyEmail'));
      return pageFrom(query, MEMBER_PAGES, items, listedView);
    },
  );
  const schema = { params: userGroupParams, body: groupMembersBody, list: groupMemberListed } as const;
  app.post(
    all,
    { oneCommit: true, ...schema, summary: 'Add members to a user group' },
    async (ctx, { params: { account_id, user_group_id: id }, body }) => {
      const ids = body.map((member) => member.id);
      return onePage((await setGroupMembers(ctx, account_id, id, ids, false)).map(listedView));
    },
  );
  app.put(
    all,
    { oneCommit: true, ...schema, summary: 'Replace the members of a user group' },
    async (ctx, { params: { account_id, user_group_id: id }, body }) => {
      const ids = body.map((member) => member.id);
      return onePage((await setGroupMembers(ctx, account_id, id, ids, true)).map(listedView));
    },
  );
  const single = `${all}/:member_id`;
  app.get(
    single,
    { summary: 'Get a member of a user group', params: groupMemberParams, answer: groupMemberShown },
    async (ctx, { params: { account_id, user_group_id, member_id } }) => {
      const item = await getGroupMember(ctx, account_id, user_group_id, member_id);
      return { ...listedView(item), created_at: printTime(item.since) };
    },
  );
  app.delete(
    single,
    {
      oneCommit: true,
      summary: 'Remove a member from a user group',
      params: groupMemberParams,
      answer: groupMemberListed,
    },
    async (ctx, { params: { account_id, user_group_id, member_id } }) =>
      listedView(await removeGroupMember(ctx, account_id, user_group_id, member_id)),
  );
}

function groupView({ id, name, createdAt, modifiedAt, policies }: UserGroupItem): UserGroupView {
  const times = { created_on: printTime(createdAt), modified_on: printTime(modifiedAt) };
  return { id, name, ...times, policies: policies.map(policyView) };
}

function listedView({ id, email, status }: GroupMemberItem): GroupMemberView {
  return { id, email, status };
}
