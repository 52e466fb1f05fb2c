/** `/memberships`: the accounts the user belongs to (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { listMemberships } from '../../control/access/accounts.js';
import type { MembershipItem } from '../../control/access/item.js';
import { accountSettings } from '../accounts/schema.js';
import { accountView } from '../accounts/view.js';
import { successPage } from '../envelope.js';
import { ACCOUNT_PAGES, pageOf, resultInfo, slicePage } from '../paging.js';
import { choiceValue, choiceValues, type Query, textValue } from '../query.js';
import { type ContextOf, callerOf, queryOf } from '../request.js';
import { answersList, direction, pageQuery } from '../schema.js';

const STATUSES = ['accepted', 'pending', 'rejected'] as const;
const ORDERS = ['id', 'account.name', 'status'] as const;

const permission = z.object({ read: z.boolean(), write: z.boolean(), edit: z.boolean() });

const membership = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    account: z.object({
      id: z.string(),
      name: z.string(),
      type: z.enum(['standard', 'enterprise']),
      settings: accountSettings,
      created_on: z.string(),
    }),
    roles: z.array(z.string()),
    permissions: z.object({ dns_records: permission, zones: permission }),
    api_access_enabled: z.null(),
  })
  .meta({ id: 'Membership' });

const membershipQuery = z.object({
  'account.name': z.string().optional(),
  name: z.string().optional().describe('Name of the account'),
  status: z.enum(STATUSES).optional(),
  order: z.enum(ORDERS).optional(),
  direction,
  ...pageQuery,
});

export const membershipRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/memberships',
    {
      config: { area: 'memberships', readsLong: true },
      schema: {
        tags: ['Accounts'],
        summary: 'List memberships',
        querystring: membershipQuery,
        response: answersList(membership),
      },
    },
    async (request) => {
      const page = pageOf(queryOf(request), ACCOUNT_PAGES);
      const found = select(await listMemberships(contextOf(request)), queryOf(request));
      const views = slicePage(found, page).map((item) => membershipView(item, callerOf(request).actor.readOnly));
      return successPage(views, resultInfo(page, views.length, found.length));
    },
  );
};

/** Filters and sorts; every membership has the status "accepted". */
function select(items: readonly MembershipItem[], query: Query): MembershipItem[] {
  const name = (textValue(query, 'account.name') ?? textValue(query, 'name'))?.toLowerCase();
  const statuses = choiceValues(query, 'status', STATUSES);
  const order = choiceValue(query, 'order', ORDERS);
  const sign = choiceValue(query, 'direction', ['asc', 'desc']) === 'desc' ? -1 : 1;
  if (statuses.length > 0 && !statuses.includes('accepted')) return [];
  const sortKey = (item: MembershipItem): string => (order === 'account.name' ? item.account.name : item.id);
  return items
    .filter((item) => name === undefined || item.account.name.toLowerCase() === name)
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -sign : sign));
}

function membershipView(item: MembershipItem, readOnly: boolean): z.output<typeof membership> {
  const allowed = { read: true, write: !readOnly, edit: !readOnly };
  return {
    id: item.id,
    status: 'accepted',
    account: accountView(item.account),
    roles: ['Super Administrator - All Privileges'],
    permissions: { dns_records: allowed, zones: allowed },
    api_access_enabled: null,
  };
}
