/** `/user/factors`, `/user/totp` and `/user/recovery_codes` (ours): what a person signs in with. */
import { endTotp, finishTotp, listFactors, makeCodes, startTotp } from '../../sign-in/enrol.js';
import type { SignInServices } from '../../sign-in/services.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { passkeyView, sessionBegun, visitorOf } from './answer.js';
import { factors, recoveryCodes, totpBody, totpSecret, withSession } from './schema.js';

const config = { enrols: true, needsSession: true } as const;

export const totpRoutes = routes<{ signIn: SignInServices }>(
  { tags: ['Sign-in'], area: 'any' },
  (app, { signIn: services }) => {
    app.open.get('/user/factors', { ...config, summary: 'List the own factors', answer: factors }, async (request) => {
      const { recoveryCodes: left, ...rest } = listFactors(services, callerOf(request).session);
      return { ...rest, passkeys: rest.passkeys.map(passkeyView), recovery_codes: left };
    });

    app.open.post(
      '/user/totp',
      { ...config, summary: 'Begin to enrol a device for one-time passwords', answer: totpSecret },
      async (request) => await startTotp(services, visitorOf(request), callerOf(request).session),
    );

    app.open.put(
      '/user/totp',
      { ...config, summary: 'Confirm the device with a code of it', body: totpBody, answer: withSession },
      async (request, reply) => {
        const { session } = callerOf(request);
        const result = await finishTotp(services, visitorOf(request), session, request.body.totp);
        return sessionBegun(services, request, reply, result);
      },
    );

    app.open.delete(
      '/user/totp',
      { ...config, summary: 'Remove the device', answer: withSession },
      async (request, reply) => {
        const result = await endTotp(services, visitorOf(request), callerOf(request).session);
        return sessionBegun(services, request, reply, result);
      },
    );

    app.open.post(
      '/user/recovery_codes',
      { ...config, summary: 'Make ten recovery codes, instead of older ones', answer: recoveryCodes },
      async (request, reply) => {
        const result = await makeCodes(services, visitorOf(request), callerOf(request).session);
        sessionBegun(services, request, reply, result);
        return { codes: [...result.value] };
      },
    );
  },
);
