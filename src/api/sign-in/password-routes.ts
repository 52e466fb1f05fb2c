/** `/user/password` and `/user/password_reset` (ours). */
import { requestReset, resetPassword } from '../../sign-in/links.js';
import { changePassword } from '../../sign-in/password.js';
import type { SignInServices } from '../../sign-in/services.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { requireOwnPage } from '../sessions/cookie.js';
import { sessionBegun, visitorOf } from './answer.js';
import { nothing, passwordChange, resetAnswer, resetBody, resetParams, resetRequest, withSession } from './schema.js';

const config = { access: 'public' } as const;

export const passwordRoutes = routes<{ signIn: SignInServices }>({ tags: ['Sign-in'] }, (app, { signIn: services }) => {
  app.scope.addHook('onClose', () => services.resetLetters.idle());
  app.scope.addHook('onClose', () => services.inviteLetters.idle());

  app.open.put(
    '/user/password',
    {
      area: 'any',
      enrols: true,
      needsSession: true,
      summary: 'Change the own password, which ends all other sessions',
      body: passwordChange,
      answer: withSession,
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await changePassword(services, visitorOf(request), session, request.body);
      return sessionBegun(services, request, reply, result);
    },
  );

  app.open.post(
    '/user/password_reset',
    {
      ...config,
      summary: 'Ask for a link with which a new password is chosen',
      description: 'The answer is the same whether or not the address belongs to a user.',
      body: resetRequest,
      answer: nothing,
    },
    async (request) => {
      requireOwnPage(request);
      requestReset(services, visitorOf(request), request.body.email);
      return {};
    },
  );

  app.open.put(
    '/user/password_reset/:code',
    {
      ...config,
      hidesPath: true,
      summary: 'Choose a new password with a link, which ends all sessions',
      params: resetParams,
      body: resetBody,
      answer: resetAnswer,
    },
    async (request) => {
      requireOwnPage(request);
      return await resetPassword(services, visitorOf(request), request.params.code, request.body.new);
    },
  );
});
