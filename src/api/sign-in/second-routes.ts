/** Second factors at the sign-in, and passkeys alone (ours). */
import { askForPasskey, type PasskeyAnswer } from '../../sign-in/passkeys.js';
import { requirePerson } from '../../sign-in/password.js';
import { askForSecondPasskey, completeSignIn, signInWithPasskey } from '../../sign-in/second-factor.js';
import type { SignInServices } from '../../sign-in/services.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { requireOwnPage } from '../sessions/cookie.js';
import { factorOf, sessionBegun, visitorOf } from './answer.js';
import {
  challengeParams,
  factorBody,
  passkeyOptions,
  passkeyOptionsBody,
  passkeySignIn,
  withSession,
} from './schema.js';

const config = { access: 'public' } as const;

export const secondFactorRoutes = routes<{ signIn: SignInServices }>(
  { tags: ['Sign-in'] },
  (app, { signIn: services }) => {
    app.open.post(
      '/user/sign_in/:challenge',
      {
        ...config,
        hidesPath: true,
        summary: 'Complete a sign-in with a second factor',
        params: challengeParams,
        body: factorBody,
        answer: withSession,
      },
      async (request, reply) => {
        requireOwnPage(request);
        const { challenge } = request.params;
        const result = await completeSignIn(services, visitorOf(request), challenge, factorOf(request.body));
        return sessionBegun(services, request, reply, result);
      },
    );

    app.open.post(
      '/user/sign_in/passkey/options',
      { ...config, summary: 'What a browser is asked for a passkey', body: passkeyOptionsBody, answer: passkeyOptions },
      async (request) => {
        requireOwnPage(request);
        const { challenge } = request.body;
        const asked =
          challenge === undefined
            ? await askForPasskey(services, visitorOf(request))
            : await askForSecondPasskey(services, visitorOf(request), challenge);
        return { ...asked };
      },
    );

    app.open.post(
      '/user/sign_in/passkey',
      {
        ...config,
        summary: 'Sign in with a passkey that verifies the person',
        body: passkeySignIn,
        answer: withSession,
      },
      async (request, reply) => {
        requireOwnPage(request);
        const answer = request.body.passkey as unknown as PasskeyAnswer;
        const result = await signInWithPasskey(services, visitorOf(request), answer);
        return sessionBegun(services, request, reply, result);
      },
    );

    app.open.post(
      '/user/confirm/options',
      {
        area: 'any',
        enrols: true,
        needsSession: true,
        summary: 'What a browser is asked to confirm with a passkey',
        answer: passkeyOptions,
      },
      async (request) => {
        const { user } = requirePerson(services.base.store, callerOf(request).session);
        return { ...(await askForPasskey(services, visitorOf(request), user)) };
      },
    );
  },
);
