/** `/accounts/{account_id}/members/{member_id}/invitation` (ours): renews an invitation, by mail or with a link to pass on. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { renewInvitation } from '../../control/people/members.js';
import { firstLink, mailInvitation } from '../../sign-in/invitations.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { visitorOf } from '../sign-in/answer.js';
import { invitationSent, memberParams } from './schema.js';
import { memberView } from './view.js';

interface Parts {
  readonly contextOf: ContextOf;
  readonly signIn: SignInServices;
}

export const invitationRoutes: FastifyPluginAsyncZod<Parts> = async (app, { contextOf, signIn }) => {
  app.post(
    '/accounts/:account_id/members/:member_id/invitation',
    {
      config: { area: 'members' },
      schema: {
        tags: ['Members'],
        summary: 'Renew the invitation of a pending member',
        params: memberParams,
        response: answersOne(invitationSent),
      },
    },
    async (request) => {
      const { account_id: accountId, member_id: memberId } = request.params;
      const context = contextOf(request);
      const member = await renewInvitation(context, accountId, memberId);
      const mailed = mailInvitation(signIn, visitorOf(request), context, { accountId, member });
      const link = mailed ? undefined : await firstLink(signIn, context, { accountId, member });
      return success({ member: memberView(member), mailed, link: link ?? null });
    },
  );
};
