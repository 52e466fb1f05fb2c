/** `/user/passkeys` (ours). */

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { addPasskey, deletePasskey, editPasskey, listFactors, startPasskey } from '../../sign-in/enrol.js';
import type { NewPasskeyAnswer } from '../../sign-in/passkeys.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { passkeyView, sessionBegun, visitorOf } from './answer.js';
import { newPasskey, passkey, passkeyEdit, passkeyOptions, passkeyParams } from './schema.js';

const tags = ['Sign-in'];
const config = { area: 'any', enrols: true, needsSession: true } as const;
const PATH = '/user/passkeys';

export const passkeyRoutes: FastifyPluginAsyncZod<{ signIn: SignInServices }> = async (app, { signIn: services }) => {
  app.get(
    PATH,
    { config, schema: { tags, summary: 'List the own passkeys', response: answersList(passkey) } },
    async (request) => success(listFactors(services, callerOf(request).session).passkeys.map(passkeyView)),
  );

  app.post(
    `${PATH}/options`,
    {
      config,
      schema: { tags, summary: 'What a browser is asked for a new passkey', response: answersOne(passkeyOptions) },
    },
    async (request) => success({ ...(await startPasskey(services, visitorOf(request), callerOf(request).session)) }),
  );

  app.post(
    PATH,
    { config, schema: { tags, summary: 'Add a passkey', body: newPasskey, response: answersOne(passkey) } },
    async (request, reply) => {
      const { name, passkey: made } = request.body;
      const answer = made as unknown as NewPasskeyAnswer;
      const result = await addPasskey(services, visitorOf(request), callerOf(request).session, { name, answer });
      sessionBegun(services, request, reply, result);
      return success(passkeyView(result.value));
    },
  );

  app.patch(
    `${PATH}/:passkey_id`,
    {
      config,
      schema: {
        tags,
        summary: 'Rename a passkey',
        params: passkeyParams,
        body: passkeyEdit,
        response: answersOne(passkey),
      },
    },
    async (request) => {
      const { session } = callerOf(request);
      const { passkey_id: id } = request.params;
      return success(passkeyView(await editPasskey(services, visitorOf(request), session, id, request.body.name)));
    },
  );

  app.delete(
    `${PATH}/:passkey_id`,
    { config, schema: { tags, summary: 'Remove a passkey', params: passkeyParams, response: answersOne(onlyId) } },
    async (request, reply) => {
      const { session } = callerOf(request);
      const result = await deletePasskey(services, visitorOf(request), session, request.params.passkey_id);
      sessionBegun(services, request, reply, result);
      return success({ id: result.value });
    },
  );
};
