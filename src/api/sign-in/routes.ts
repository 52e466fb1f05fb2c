/** `/user/sign_in` and `/user/confirm` (ours): people sign in as themselves, from the dashboard. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { confirm } from '../../sign-in/confirm.js';
import { signInWithLink } from '../../sign-in/links.js';
import { relyingParty } from '../../sign-in/passkeys.js';
import { signInWithPassword } from '../../sign-in/password.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { answersOne } from '../schema.js';
import { requireOwnPage } from '../sessions/cookie.js';
import { factorOf, providersOf, sessionBegun, signInBegun, visitorOf } from './answer.js';
import { factorBody, linkBody, signedIn, signIn, ways, withSession } from './schema.js';

const tags = ['Sign-in'];
const config = { access: 'public' } as const;

export const signInRoutes: FastifyPluginAsyncZod<{ signIn: SignInServices }> = async (app, { signIn: services }) => {
  app.get(
    '/user/sign_in',
    { config, schema: { tags, summary: 'How one can sign in here', response: answersOne(ways) } },
    async (request) => {
      const { passwords, publicUrl } = services.settings;
      const passkeys = relyingParty(services, visitorOf(request)) !== undefined;
      const providers = providersOf(services);
      return success({
        passwords,
        passkeys,
        providers,
        mail: passwords && services.sendMail !== undefined && publicUrl !== undefined,
      });
    },
  );

  app.post(
    '/user/sign_in',
    {
      config,
      schema: { tags, summary: 'Sign in with a password', body: signIn, response: answersOne(signedIn) },
    },
    async (request, reply) => {
      requireOwnPage(request);
      const result = await signInWithPassword(services, visitorOf(request), request.body);
      return success(signInBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/sign_in/link',
    {
      config,
      schema: {
        tags,
        summary: 'Sign in with a link that the operator handed on',
        body: linkBody,
        response: answersOne(signedIn),
      },
    },
    async (request, reply) => {
      requireOwnPage(request);
      const result = await signInWithLink(services, visitorOf(request), request.body.link);
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/confirm',
    {
      config: { area: 'any', enrols: true, needsSession: true },
      schema: {
        tags,
        summary: 'Prove once more who one is, for the next ten minutes',
        body: factorBody,
        response: answersOne(withSession),
      },
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await confirm(services, visitorOf(request), session, factorOf(request.body));
      return success(sessionBegun(services, request, reply, result));
    },
  );
};
