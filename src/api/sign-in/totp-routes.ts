/** `/user/factors`, `/user/totp` and `/user/recovery_codes` (ours): what a person signs in with. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { endTotp, finishTotp, listFactors, makeCodes, startTotp } from '../../sign-in/enrol.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { answersOne } from '../schema.js';
import { passkeyView, sessionBegun, visitorOf } from './answer.js';
import { factors, recoveryCodes, totpBody, totpSecret, withSession } from './schema.js';

const tags = ['Sign-in'];
const config = { area: 'any', enrols: true, needsSession: true } as const;

export const totpRoutes: FastifyPluginAsyncZod<{ signIn: SignInServices }> = async (app, { signIn: services }) => {
  app.get(
    '/user/factors',
    { config, schema: { tags, summary: 'List the own factors', response: answersOne(factors) } },
    async (request) => {
      const { recoveryCodes: left, ...rest } = listFactors(services, callerOf(request).session);
      return success({ ...rest, passkeys: rest.passkeys.map(passkeyView), recovery_codes: left });
    },
  );

  app.post(
    '/user/totp',
    {
      config,
      schema: { tags, summary: 'Begin to enrol a device for one-time passwords', response: answersOne(totpSecret) },
    },
    async (request) => success(await startTotp(services, visitorOf(request), callerOf(request).session)),
  );

  app.put(
    '/user/totp',
    {
      config,
      schema: {
        tags,
        summary: 'Confirm the device with a code of it',
        body: totpBody,
        response: answersOne(withSession),
      },
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await finishTotp(services, visitorOf(request), session, request.body.totp);
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.delete(
    '/user/totp',
    { config, schema: { tags, summary: 'Remove the device', response: answersOne(withSession) } },
    async (request, reply) => {
      const result = await endTotp(services, visitorOf(request), callerOf(request).session);
      return success(sessionBegun(services, request, reply, result));
    },
  );

  app.post(
    '/user/recovery_codes',
    {
      config,
      schema: { tags, summary: 'Make ten recovery codes, instead of older ones', response: answersOne(recoveryCodes) },
    },
    async (request, reply) => {
      const result = await makeCodes(services, visitorOf(request), callerOf(request).session);
      sessionBegun(services, request, reply, result);
      return success({ codes: [...result.value] });
    },
  );
};
