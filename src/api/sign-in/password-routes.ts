/** `/user/password` and `/user/password_reset` (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { requestReset, resetPassword } from '../../sign-in/links.js';
import { changePassword } from '../../sign-in/password.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { answersOne } from '../schema.js';
import { requireOwnPage } from '../sessions/cookie.js';
import { sessionBegun, visitorOf } from './answer.js';
import { nothing, passwordChange, resetAnswer, resetBody, resetParams, resetRequest, withSession } from './schema.js';

const tags = ['Sign-in'];
const config = { access: 'public' } as const;

export const passwordRoutes: FastifyPluginAsyncZod<{ signIn: SignInServices }> = async (app, { signIn: services }) => {
  app.addHook('onClose', () => services.resetLetters.idle());
  app.addHook('onClose', () => services.inviteLetters.idle());

  app.put(
    '/user/password',
    {
      config: { area: 'any', enrols: true, needsSession: true },
      schema: {
        tags,
        summary: 'Change the own password, which ends all other sessions',
        body: passwordChange,
        response: answersOne(withSession),
      },
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await changePassword(services, visitorOf(request), session, request.body);
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/password_reset',
    {
      config,
      schema: {
        tags,
        summary: 'Ask for a link with which a new password is chosen',
        description: 'The answer is the same whether or not the address belongs to a user.',
        body: resetRequest,
        response: answersOne(nothing),
      },
    },
    async (request) => {
      requireOwnPage(request);
      requestReset(services, visitorOf(request), request.body.email);
      return success({});
    },
  );

  app.put(
    '/user/password_reset/:code',
    {
      config: { ...config, hidesPath: true },
      schema: {
        tags,
        summary: 'Choose a new password with a link, which ends all sessions',
        params: resetParams,
        body: resetBody,
        response: answersOne(resetAnswer),
      },
    },
    async (request) => {
      requireOwnPage(request);
      return success(await resetPassword(services, visitorOf(request), request.params.code, request.body.new));
    },
  );
};
