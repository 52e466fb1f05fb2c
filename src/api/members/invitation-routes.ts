/** `/accounts/{account_id}/members/{member_id}/invitation` (ours): renews an invitation, by mail or with a link to pass on. */
import { renewInvitation } from '../../control/people/members.js';
import { firstLink, mailInvitation } from '../../sign-in/invitations.js';
import type { SignInServices } from '../../sign-in/services.js';
import type { AddRoutes } from '../routing/route.js';
import { visitorOf } from '../sign-in/answer.js';
import { invitationSent, memberParams } from './schema.js';
import { memberView } from './view.js';

interface Parts {
  readonly signIn: SignInServices;
}

export const invitationRoutes: AddRoutes<Parts> = (app, { signIn }) => {
  app.post(
    '/accounts/:account_id/members/:member_id/invitation',
    {
      area: 'members',
      tags: ['Members'],
      summary: 'Renew the invitation of a pending member',
      params: memberParams,
      answer: invitationSent,
    },
    async (ctx, request) => {
      const { account_id: accountId, member_id: memberId } = request.params;
      const member = await renewInvitation(ctx, accountId, memberId);
      const mailed = mailInvitation(signIn, visitorOf(request), ctx, { accountId, member });
      const link = mailed ? undefined : await firstLink(signIn, ctx, { accountId, member });
      return { member: memberView(member), mailed, link: link ?? null };
    },
  );
};
