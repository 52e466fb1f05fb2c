/** `/memberships`: the accounts the user belongs to, and those that invite it (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { findRole } from '../../control/guard/roles.js';
import type { MembershipItem } from '../../control/people/item.js';
import { getMembership, leaveAccount, listMemberships, replyToMembership } from '../../control/people/memberships.js';
import { accountView } from '../accounts/view.js';
import { success } from '../envelope.js';
import { policyView } from '../members/view.js';
import { ACCOUNT_PAGES, pageFrom } from '../paging.js';
import { choiceValue, choiceValues, type Query, textValue } from '../query.js';
import { type ContextOf, callerOf, queryOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { type Membership, membership, membershipParams, membershipQuery, ORDERS, reply, STATUSES } from './schema.js';

const tags = ['Accounts'];

export const membershipRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/memberships',
    {
      config: { area: 'memberships', readsLong: true },
      schema: { tags, summary: 'List memberships', querystring: membershipQuery, response: answersList(membership) },
    },
    async (request) => {
      const query = queryOf(request);
      const { readOnly } = callerOf(request).actor;
      const found = select(await listMemberships(contextOf(request)), query);
      return pageFrom(query, ACCOUNT_PAGES, found, (item) => membershipView(item, readOnly));
    },
  );
  const single = '/memberships/:membership_id';
  const shown = answersOne(membership);
  app.get(
    single,
    {
      config: { area: 'memberships' },
      schema: { tags, summary: 'Get a membership', params: membershipParams, response: shown },
    },
    async (request) => {
      const item = await getMembership(contextOf(request), request.params.membership_id);
      return success(membershipView(item, callerOf(request).actor.readOnly));
    },
  );
  app.put(
    single,
    {
      config: { area: 'memberships', oneCommit: true },
      schema: {
        tags,
        summary: 'Accept or reject an invitation into an account',
        params: membershipParams,
        body: reply,
        response: shown,
      },
    },
    async (request) => {
      const { status } = request.body;
      const item = await replyToMembership(contextOf(request), request.params.membership_id, status);
      return success({ ...membershipView(item, false), status });
    },
  );
  app.delete(
    single,
    {
      config: { area: 'memberships', oneCommit: true },
      schema: { tags, summary: 'Leave an account', params: membershipParams, response: answersOne(onlyId) },
    },
    async (request) => success({ id: await leaveAccount(contextOf(request), request.params.membership_id) }),
  );
};

/** Filters and sorts. */
function select(items: readonly MembershipItem[], query: Query): MembershipItem[] {
  const name = (textValue(query, 'account.name') ?? textValue(query, 'name'))?.toLowerCase();
  const statuses = choiceValues(query, 'status', STATUSES);
  const order = choiceValue(query, 'order', ORDERS);
  const sign = choiceValue(query, 'direction', ['asc', 'desc']) === 'desc' ? -1 : 1;
  const sortKey = (item: MembershipItem): string =>
    order === 'account.name' ? item.account.name : order === 'status' ? `${item.status} ${item.id}` : item.id;
  return items
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .filter((item) => name === undefined || item.account.name.toLowerCase() === name)
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -sign : sign));
}

function membershipView(item: MembershipItem, readOnly: boolean): Membership {
  const allowed = ({ read, write }: MembershipItem['zones']) => {
    const edits = write && !readOnly;
    return { read, write: edits, edit: edits };
  };
  return {
    id: item.id,
    status: item.status,
    account: accountView(item.account),
    roles: item.roles.map((id) => findRole(id)?.name ?? id),
    ...(item.policies && { policies: item.policies.map(policyView) }),
    permissions: { dns_records: allowed(item.records), zones: allowed(item.zones) },
    api_access_enabled: null,
  };
}
