/** `/accounts/{account_id}/iam/user_groups`: members who share policies. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success } from '../envelope.js';
import { policyView } from '../members/view.js';
import { MEMBER_PAGES, onePage, pageFrom } from '../paging.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { accountResource } from '../resource.js';
import { answersList, answersOne } from '../schema.js';
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

const tags = ['Members'];
const read = { area: 'members' } as const;
const write = { area: 'members', oneCommit: true } as const;
const SINGLE = '/accounts/:account_id/iam/user_groups/:user_group_id';

export const userGroupRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  accountResource(app, contextOf, {
    ...{ tags, isPaged: MEMBER_PAGES, oneCommit: true, area: 'members' },
    ...{ path: 'iam/user_groups', id: 'user_group_id', one: 'a user group', many: 'user groups' },
    ...{ params: userGroupParams, item: userGroup, query: userGroupQuery, view: groupView },
    ...{ body: userGroupBody, change: userGroupChange },
    ...{ create: createUserGroup, get: getUserGroup, replace: replaceUserGroup, remove: removeUserGroup },
    async list(ctx, account, query) {
      const found = namedSo(query, await listUserGroups(ctx, account));
      return matching(query, found, ({ name }) => name, textValue(query, 'fuzzyName'));
    },
  });
  addMembers(app, contextOf);
};

function addMembers(app: RouteScope, contextOf: ContextOf): void {
  const all = `${SINGLE}/members`;
  const listed = answersList(groupMemberListed);
  app.get(
    all,
    {
      config: read,
      schema: {
        tags,
        summary: 'List the members of a user group',
        params: userGroupParams,
        querystring: groupMemberQuery,
        response: listed,
      },
    },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      const query = queryOf(request);
      const all = await listGroupMembers(contextOf(request), account_id, id);
      const items = matching(query, all, ({ email }) => email, textValue(query, 'fuzzyEmail'));
      return pageFrom(query, MEMBER_PAGES, items, listedView);
    },
  );
  const schema = { tags, params: userGroupParams, body: groupMembersBody, response: listed };
  app.post(all, { config: write, schema: { ...schema, summary: 'Add members to a user group' } }, async (request) => {
    const { account_id, user_group_id: id } = request.params;
    const ids = request.body.map((member) => member.id);
    return onePage((await setGroupMembers(contextOf(request), account_id, id, ids, false)).map(listedView));
  });
  app.put(
    all,
    { config: write, schema: { ...schema, summary: 'Replace the members of a user group' } },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      const ids = request.body.map((member) => member.id);
      return onePage((await setGroupMembers(contextOf(request), account_id, id, ids, true)).map(listedView));
    },
  );
  const single = `${all}/:member_id`;
  app.get(
    single,
    {
      config: read,
      schema: {
        tags,
        summary: 'Get a member of a user group',
        params: groupMemberParams,
        response: answersOne(groupMemberShown),
      },
    },
    async (request) => {
      const { account_id, user_group_id, member_id } = request.params;
      const item = await getGroupMember(contextOf(request), account_id, user_group_id, member_id);
      return success({ ...listedView(item), created_at: printTime(item.since) });
    },
  );
  app.delete(
    single,
    {
      config: write,
      schema: {
        tags,
        summary: 'Remove a member from a user group',
        params: groupMemberParams,
        response: answersOne(groupMemberListed),
      },
    },
    async (request) => {
      const { account_id, user_group_id, member_id } = request.params;
      return success(listedView(await removeGroupMember(contextOf(request), account_id, user_group_id, member_id)));
    },
  );
}

function groupView({ id, name, createdAt, modifiedAt, policies }: UserGroupItem): UserGroupView {
  const times = { created_on: printTime(createdAt), modified_on: printTime(modifiedAt) };
  return { id, name, ...times, policies: policies.map(policyView) };
}

function listedView({ id, email, status }: GroupMemberItem): GroupMemberView {
  return { id, email, status };
}
