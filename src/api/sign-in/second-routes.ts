/** Second factors at the sign-in, and passkeys alone (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { askForPasskey, type PasskeyAnswer } from '../../sign-in/passkeys.js';
import { requirePerson } from '../../sign-in/password.js';
import { askForSecondPasskey, completeSignIn, signInWithPasskey } from '../../sign-in/second-factor.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { answersOne } from '../schema.js';
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

const tags = ['Sign-in'];
const config = { access: 'public' } as const;

export const secondFactorRoutes: FastifyPluginAsyncZod<{ signIn: SignInServices }> = async (
  app,
  { signIn: services },
) => {
  app.post(
    '/user/sign_in/:challenge',
    {
      config: { ...config, hidesPath: true },
      schema: {
        tags,
        summary: 'Complete a sign-in with a second factor',
        params: challengeParams,
        body: factorBody,
        response: answersOne(withSession),
      },
    },
    async (request, reply) => {
      requireOwnPage(request);
      const { challenge } = request.params;
      const result = await completeSignIn(services, visitorOf(request), challenge, factorOf(request.body));
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/sign_in/passkey/options',
    {
      config,
      schema: {
        tags,
        summary: 'What a browser is asked for a passkey',
        body: passkeyOptionsBody,
        response: answersOne(passkeyOptions),
      },
    },
    async (request) => {
      requireOwnPage(request);
      const { challenge } = request.body;
      const asked =
        challenge === undefined
          ? await askForPasskey(services, visitorOf(request))
          : await askForSecondPasskey(services, visitorOf(request), challenge);
      return success({ ...asked });
    },
  );

  app.post(
    '/user/sign_in/passkey',
    {
      config,
      schema: {
        tags,
        summary: 'Sign in with a passkey that verifies the person',
        body: passkeySignIn,
        response: answersOne(withSession),
      },
    },
    async (request, reply) => {
      requireOwnPage(request);
      const answer = request.body.passkey as unknown as PasskeyAnswer;
      const result = await signInWithPasskey(services, visitorOf(request), answer);
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/confirm/options',
    {
      config: { area: 'any', enrols: true, needsSession: true },
      schema: {
        tags,
        summary: 'What a browser is asked to confirm with a passkey',
        response: answersOne(passkeyOptions),
      },
    },
    async (request) => {
      const { user } = requirePerson(services.base.store, callerOf(request).session);
      return success({ ...(await askForPasskey(services, visitorOf(request), user)) });
    },
  );
};
