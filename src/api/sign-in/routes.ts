/** `/user/sign_in` and `/user/confirm` (ours): people sign in as themselves, from the dashboard. */
import { confirm } from '../../sign-in/confirm.js';
import { signInWithLink } from '../../sign-in/links.js';
import { relyingParty } from '../../sign-in/passkeys.js';
import { signInWithPassword } from '../../sign-in/password.js';
import type { SignInServices } from '../../sign-in/services.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { requireOwnPage } from '../sessions/cookie.js';
import { factorOf, providersOf, sessionBegun, signInBegun, visitorOf } from './answer.js';
import { factorBody, linkBody, signedIn, signIn, ways, withSession } from './schema.js';

const config = { access: 'public' } as const;

export const signInRoutes = routes<{ signIn: SignInServices }>({ tags: ['Sign-in'] }, (app, { signIn: services }) => {
  app.open.get('/user/sign_in', { ...config, summary: 'How one can sign in here', answer: ways }, async (request) => {
    const { passwords, publicUrl } = services.settings;
    const passkeys = relyingParty(services, visitorOf(request)) !== undefined;
    const providers = providersOf(services);
    return {
      passwords,
      passkeys,
      providers,
      mail: passwords && services.sendMail !== undefined && publicUrl !== undefined,
    };
  });

  app.open.post(
    '/user/sign_in',
    { ...config, summary: 'Sign in with a password', body: signIn, answer: signedIn },
    async (request, reply) => {
      requireOwnPage(request);
      const result = await signInWithPassword(services, visitorOf(request), request.body);
      return signInBegun(services, request, reply, result);
    },
  );

  app.open.post(
    '/user/sign_in/link',
    { ...config, summary: 'Sign in with a link that the operator handed on', body: linkBody, answer: signedIn },
    async (request, reply) => {
      requireOwnPage(request);
      const result = await signInWithLink(services, visitorOf(request), request.body.link);
      return sessionBegun(services, request, reply, result);
    },
  );

  app.open.post(
    '/user/confirm',
    {
      area: 'any',
      enrols: true,
      needsSession: true,
      summary: 'Prove once more who one is, for the next ten minutes',
      body: factorBody,
      answer: withSession,
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await confirm(services, visitorOf(request), session, factorOf(request.body));
      return sessionBegun(services, request, reply, result);
    },
  );
});
