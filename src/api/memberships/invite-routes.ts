/** `/user/invites`: what accounts ask the user. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { getInvitation, listInvitations } from '../../control/people/invitations.js';
import type { InvitationItem } from '../../control/people/item.js';
import { replyToInvitation } from '../../control/people/memberships.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { printTime } from '../times.js';
import { type Invite, invite, reply } from './schema.js';

const inviteParams = z.object({ invite_id: z.string().max(64).describe('Identifier of the invitation') });

export const inviteRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const tags = ['User'];
  app.get(
    '/user/invites',
    {
      config: { area: 'memberships' },
      schema: { tags, summary: 'List invitations', response: answersOne(z.array(invite)) },
    },
    async (request) => success((await listInvitations(contextOf(request))).map(inviteView)),
  );
  app.get(
    '/user/invites/:invite_id',
    {
      config: { area: 'memberships' },
      schema: { tags, summary: 'Get an invitation', params: inviteParams, response: answersOne(invite) },
    },
    async (request) => success(inviteView(await getInvitation(contextOf(request), request.params.invite_id))),
  );
  app.patch(
    '/user/invites/:invite_id',
    {
      config: { area: 'memberships', oneCommit: true },
      schema: {
        tags,
        summary: 'Accept or reject an invitation',
        params: inviteParams,
        body: reply,
        response: answersOne(invite),
      },
    },
    async (request) => {
      const { status } = request.body;
      return success(inviteView(await replyToInvitation(contextOf(request), request.params.invite_id, status)));
    },
  );
};

function inviteView(item: InvitationItem): Invite {
  const { account, invitedAt, expiresAt } = item;
  return {
    id: item.id,
    invited_member_id: item.memberId,
    invited_member_email: item.email,
    organization_id: account.id,
    organization_name: account.name,
    organization_is_enforcing_twofactor: account.enforcesTwoFactor,
    roles: [...item.roles],
    invited_by: item.invitedBy,
    invited_on: printTime(invitedAt),
    expires_on: printTime(expiresAt),
    status: item.status,
  };
}
