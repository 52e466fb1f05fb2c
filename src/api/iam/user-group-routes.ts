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
import { accountParams } from '../accounts/schema.js';
import { success, successPage } from '../envelope.js';
import { policyView } from '../members/view.js';
import { MEMBER_PAGES, pageOf, resultInfo, slicePage } from '../paging.js';
import { choiceValue, type Query, textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { printTime } from '../times.js';
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
const ALL = '/accounts/:account_id/iam/user_groups';
const SINGLE = `${ALL}/:user_group_id`;

export const userGroupRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const shown = answersOne(userGroup);
  app.get(
    ALL,
    {
      config: read,
      schema: {
        tags,
        summary: 'List user groups',
        params: accountParams,
        querystring: userGroupQuery,
        response: answersList(userGroup),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const [id, name, part] = [textValue(query, 'id'), textValue(query, 'name'), textValue(query, 'fuzzyName')];
      const items = await listUserGroups(contextOf(request), request.params.account_id);
      const found = items.filter(
        (item) => (id === undefined || item.id === id) && (name === undefined || item.name === name),
      );
      return pageOfItems(
        query,
        matching(query, found, ({ name: text }) => text, part),
        groupView,
      );
    },
  );
  app.post(
    ALL,
    {
      config: write,
      schema: { tags, summary: 'Create a user group', params: accountParams, body: userGroupBody, response: shown },
    },
    async (request) =>
      success(groupView(await createUserGroup(contextOf(request), request.params.account_id, request.body))),
  );
  app.get(
    SINGLE,
    { config: read, schema: { tags, summary: 'Get a user group', params: userGroupParams, response: shown } },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      return success(groupView(await getUserGroup(contextOf(request), account_id, id)));
    },
  );
  app.put(
    SINGLE,
    {
      config: write,
      schema: {
        tags,
        summary: 'Replace a user group',
        params: userGroupParams,
        body: userGroupChange,
        response: shown,
      },
    },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      return success(groupView(await replaceUserGroup(contextOf(request), account_id, id, request.body)));
    },
  );
  app.delete(
    SINGLE,
    {
      config: write,
      schema: { tags, summary: 'Delete a user group', params: userGroupParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      return success({ id: await removeUserGroup(contextOf(request), account_id, id) });
    },
  );
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
      const items = await listGroupMembers(contextOf(request), account_id, id);
      return pageOfItems(
        query,
        matching(query, items, ({ email }) => email, textValue(query, 'fuzzyEmail')),
        listedView,
      );
    },
  );
  const schema = { tags, params: userGroupParams, body: groupMembersBody, response: listed };
  app.post(all, { config: write, schema: { ...schema, summary: 'Add members to a user group' } }, async (request) => {
    const { account_id, user_group_id: id } = request.params;
    const ids = request.body.map((member) => member.id);
    return allItems(await setGroupMembers(contextOf(request), account_id, id, ids, false));
  });
  app.put(
    all,
    { config: write, schema: { ...schema, summary: 'Replace the members of a user group' } },
    async (request) => {
      const { account_id, user_group_id: id } = request.params;
      const ids = request.body.map((member) => member.id);
      return allItems(await setGroupMembers(contextOf(request), account_id, id, ids, true));
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

/** Items of which a text contains a part, in the direction that is asked for. */
function matching<Item>(
  query: Query,
  items: readonly Item[],
  textOf: (item: Item) => string,
  part: string | undefined,
): Item[] {
  const found = items.filter((item) => part === undefined || textOf(item).toLowerCase().includes(part.toLowerCase()));
  return choiceValue(query, 'direction', ['asc', 'desc']) === 'desc' ? found.reverse() : found;
}

function pageOfItems<Item, View>(query: Query, items: readonly Item[], view: (item: Item) => View) {
  const page = pageOf(query, MEMBER_PAGES);
  const views = slicePage(items, page).map(view);
  return successPage(views, resultInfo(page, views.length, items.length));
}

function allItems(items: readonly GroupMemberItem[]) {
  const page = { page: 1, perPage: Math.max(1, items.length) };
  return successPage(items.map(listedView), resultInfo(page, items.length, items.length));
}
