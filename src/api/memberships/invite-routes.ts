/** `/user/invites`: what accounts ask the user. */
import { z } from 'zod';
import { getInvitation, listInvitations } from '../../control/people/invitations.js';
import type { InvitationItem } from '../../control/people/item.js';
import { replyToInvitation } from '../../control/people/memberships.js';
import { routes } from '../routing/route.js';
import { printTime } from '../times.js';
import { type Invite, invite, reply } from './schema.js';

const inviteParams = z.object({ invite_id: z.string().max(64).describe('Identifier of the invitation') });

export const inviteRoutes = routes({ tags: ['User'], area: 'memberships' }, (app) => {
  app.get('/user/invites', { summary: 'List invitations', answer: z.array(invite) }, async (ctx) =>
    (await listInvitations(ctx)).map(inviteView),
  );
  app.get(
    '/user/invites/:invite_id',
    { summary: 'Get an invitation', params: inviteParams, answer: invite },
    async (ctx, { params }) => inviteView(await getInvitation(ctx, params.invite_id)),
  );
  app.patch(
    '/user/invites/:invite_id',
    { oneCommit: true, summary: 'Accept or reject an invitation', params: inviteParams, body: reply, answer: invite },
    async (ctx, { params, body: { status } }) => inviteView(await replyToInvitation(ctx, params.invite_id, status)),
  );
});

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
