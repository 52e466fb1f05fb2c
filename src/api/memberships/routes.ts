/** `/memberships`: the accounts the user belongs to, and those that invite it (v4: §12). */
import { findRole } from '../../control/guard/roles.js';
import type { MembershipItem } from '../../control/people/item.js';
import { getMembership, leaveAccount, listMemberships, replyToMembership } from '../../control/people/memberships.js';
import { accountView } from '../accounts/view.js';
import { policyView } from '../members/view.js';
import { ACCOUNT_PAGES, pageFrom } from '../paging.js';
import { choiceValue, choiceValues, type Query, textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { type Membership, membership, membershipParams, membershipQuery, ORDERS, reply, STATUSES } from './schema.js';

export const membershipRoutes = routes({ tags: ['Accounts'], area: 'memberships' }, (app) => {
  app.get(
    '/memberships',
    { readsLong: true, summary: 'List memberships', querystring: membershipQuery, list: membership },
    async (ctx, request) => {
      const query = queryOf(request);
      const { readOnly } = callerOf(request).actor;
      const found = select(await listMemberships(ctx), query);
      return pageFrom(query, ACCOUNT_PAGES, found, (item) => membershipView(item, readOnly));
    },
  );
  const single = '/memberships/:membership_id';
  app.get(
    single,
    { summary: 'Get a membership', params: membershipParams, answer: membership },
    async (ctx, request) => {
      const item = await getMembership(ctx, request.params.membership_id);
      return membershipView(item, callerOf(request).actor.readOnly);
    },
  );
  app.put(
    single,
    {
      oneCommit: true,
      summary: 'Accept or reject an invitation into an account',
      params: membershipParams,
      body: reply,
      answer: membership,
    },
    async (ctx, { params, body: { status } }) => {
      const item = await replyToMembership(ctx, params.membership_id, status);
      return { ...membershipView(item, false), status };
    },
  );
  app.delete(
    single,
    { oneCommit: true, summary: 'Leave an account', params: membershipParams, answer: onlyId },
    async (ctx, { params }) => ({ id: await leaveAccount(ctx, params.membership_id) }),
  );
});

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
