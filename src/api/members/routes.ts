/** `/accounts/{account_id}/members` and `…/roles`: who may do what in an account. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireAccount } from '../../control/guard/access.js';
import { findRole, ROLES } from '../../control/guard/roles.js';
import { peopleFailure } from '../../control/people/errors.js';
import { addMember, changeMember, getMember, listMembers, removeMember } from '../../control/people/members.js';
import { mailInvitation } from '../../sign-in/invitations.js';
import type { SignInServices } from '../../sign-in/services.js';
import { accountParams } from '../accounts/schema.js';
import { success, successPage } from '../envelope.js';
import { MEMBER_PAGES, pageFrom, pageOf, resultInfo } from '../paging.js';
import { choiceValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne, onlyId, pageQuery } from '../schema.js';
import { visitorOf } from '../sign-in/answer.js';
import { member, memberBody, memberChange, memberParams, memberQuery, role, roleParams } from './schema.js';
import { memberView, roleView } from './view.js';

const tags = ['Members'];
const read = { area: 'members', readsLong: true } as const;
const write = { area: 'members', oneCommit: true } as const;
const shown = answersOne(member);

interface Parts {
  readonly contextOf: ContextOf;
  /** Absent in processes that answer only reads. */
  readonly signIn?: SignInServices;
}

export const memberRoutes: FastifyPluginAsyncZod<Parts> = async (app, { contextOf, signIn }) => {
  const all = '/accounts/:account_id/members';
  const single = `${all}/:member_id`;
  app.get(
    all,
    {
      config: read,
      schema: {
        tags,
        summary: 'List members',
        params: accountParams,
        querystring: memberQuery,
        response: answersList(member),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, MEMBER_PAGES);
      const order = choiceValue(query, 'order', ['user.first_name', 'user.last_name', 'user.email', 'status']);
      const status = choiceValue(query, 'status', ['accepted', 'pending', 'rejected']);
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const { items, totalCount } = await listMembers(contextOf(request), request.params.account_id, {
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
    {
      config: write,
      schema: { tags, summary: 'Invite a member', params: accountParams, body: memberBody, response: shown },
    },
    async (request) => {
      const { account_id: accountId } = request.params;
      const member = await addMember(contextOf(request), accountId, request.body);
      if (signIn) mailInvitation(signIn, visitorOf(request), contextOf(request), { accountId, member });
      return success(memberView(member));
    },
  );
  app.get(
    single,
    { config: read, schema: { tags, summary: 'Get a member', params: memberParams, response: shown } },
    async (request) => {
      const { account_id, member_id } = request.params;
      return success(memberView(await getMember(contextOf(request), account_id, member_id)));
    },
  );
  app.put(
    single,
    {
      config: write,
      schema: {
        tags,
        summary: 'Replace roles or policies of a member',
        params: memberParams,
        body: memberChange,
        response: shown,
      },
    },
    async (request) => {
      const { account_id, member_id } = request.params;
      return success(memberView(await changeMember(contextOf(request), account_id, member_id, request.body)));
    },
  );
  app.delete(
    single,
    { config: write, schema: { tags, summary: 'Remove a member', params: memberParams, response: answersOne(onlyId) } },
    async (request) => {
      const { account_id, member_id } = request.params;
      return success({ id: await removeMember(contextOf(request), account_id, member_id) });
    },
  );
  addRoles(app, contextOf);
};

/** Roles are the same in all accounts. */
function addRoles(app: RouteScope, contextOf: ContextOf): void {
  const known = ROLES.filter(({ scope }) => scope === 'account');
  app.get(
    '/accounts/:account_id/roles',
    {
      config: { area: 'members' },
      schema: {
        tags,
        summary: 'List roles',
        params: accountParams,
        querystring: z.object(pageQuery),
        response: answersList(role),
      },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      return pageFrom(queryOf(request), MEMBER_PAGES, known, roleView);
    },
  );
  app.get(
    '/accounts/:account_id/roles/:role_id',
    {
      config: { area: 'members' },
      schema: { tags, summary: 'Get a role', params: roleParams, response: answersOne(role) },
    },
    async (request) => {
      const { account_id, role_id } = request.params;
      requireAccount(contextOf(request), account_id);
      const found = findRole(role_id);
      if (found?.scope !== 'account') throw peopleFailure('roleMissing', { id: role_id });
      return success(roleView(found));
    },
  );
}
