/** `/accounts/{account_id}/members` and `…/roles`: who may do what in an account. */
import { z } from 'zod';
import { requireAccount } from '../../control/guard/access.js';
import { findRole, ROLES } from '../../control/guard/roles.js';
import { peopleFailure } from '../../control/people/errors.js';
import { addMember, changeMember, getMember, listMembers, removeMember } from '../../control/people/members.js';
import { mailInvitation } from '../../sign-in/invitations.js';
import type { SignInServices } from '../../sign-in/services.js';
import { accountParams } from '../accounts/schema.js';
import { successPage } from '../envelope.js';
import { MEMBER_PAGES, pageFrom, pageOf, resultInfo } from '../paging.js';
import { choiceValue } from '../query.js';
import { queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { onlyId, pageQuery } from '../schema.js';
import { visitorOf } from '../sign-in/answer.js';
import { member, memberBody, memberChange, memberParams, memberQuery, role, roleParams } from './schema.js';
import { memberView, roleView } from './view.js';

const read = { readsLong: true } as const;
const write = { oneCommit: true } as const;

export interface MemberRouteOptions {
  /** Absent in processes that answer only reads. */
  readonly signIn?: SignInServices;
}

export const memberRoutes = routes<MemberRouteOptions>({ tags: ['Members'], area: 'members' }, (app, { signIn }) => {
  const all = '/accounts/:account_id/members';
  const single = `${all}/:member_id`;
  app.get(
    all,
    { ...read, summary: 'List members', params: accountParams, querystring: memberQuery, list: member },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, MEMBER_PAGES);
      const order = choiceValue(query, 'order', ['user.first_name', 'user.last_name', 'user.email', 'status']);
      const status = choiceValue(query, 'status', ['accepted', 'pending', 'rejected']);
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const { items, totalCount } = await listMembers(ctx, request.params.account_id, {
        ...page,
        ...(order && { order }),
        ...(status && { status }),
        ...(direction && { direction }),
      });
      return successPage(items.map(memberView), resultInfo(page, items.length, totalCount));
    },
  );
  app.post(
    all,
    { ...write, summary: 'Invite a member', params: accountParams, body: memberBody, answer: member },
    async (ctx, request) => {
      const { account_id: accountId } = request.params;
      const member = await addMember(ctx, accountId, request.body);
      if (signIn) mailInvitation(signIn, visitorOf(request), ctx, { accountId, member });
      return memberView(member);
    },
  );
  app.get(
    single,
    { ...read, summary: 'Get a member', params: memberParams, answer: member },
    async (ctx, { params: { account_id, member_id } }) => memberView(await getMember(ctx, account_id, member_id)),
  );
  app.put(
    single,
    {
      ...write,
      summary: 'Replace roles or policies of a member',
      params: memberParams,
      body: memberChange,
      answer: member,
    },
    async (ctx, { params: { account_id, member_id }, body }) =>
      memberView(await changeMember(ctx, account_id, member_id, body)),
  );
  app.delete(
    single,
    { ...write, summary: 'Remove a member', params: memberParams, answer: onlyId },
    async (ctx, { params: { account_id, member_id } }) => ({ id: await removeMember(ctx, account_id, member_id) }),
  );
  addRoles(app);
});

/** Roles are the same in all accounts. */
function addRoles(app: Routes): void {
  const known = ROLES.filter(({ scope }) => scope === 'account');
  app.get(
    '/accounts/:account_id/roles',
    { summary: 'List roles', params: accountParams, querystring: z.object(pageQuery), list: role },
    async (ctx, request) => {
      requireAccount(ctx, request.params.account_id);
      return pageFrom(queryOf(request), MEMBER_PAGES, known, roleView);
    },
  );
  app.get(
    '/accounts/:account_id/roles/:role_id',
    { summary: 'Get a role', params: roleParams, answer: role },
    async (ctx, { params: { account_id, role_id } }) => {
      requireAccount(ctx, account_id);
      const found = findRole(role_id);
      if (found?.scope !== 'account') throw peopleFailure('roleMissing', { id: role_id });
      return roleView(found);
    },
  );
}
