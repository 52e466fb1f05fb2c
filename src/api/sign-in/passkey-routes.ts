/** `/user/passkeys` (ours). */

import { addPasskey, deletePasskey, editPasskey, listFactors, startPasskey } from '../../sign-in/enrol.js';
import type { NewPasskeyAnswer } from '../../sign-in/passkeys.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { passkeyView, sessionBegun, visitorOf } from './answer.js';
import { newPasskey, passkey, passkeyEdit, passkeyOptions, passkeyParams } from './schema.js';

const config = { enrols: true, needsSession: true } as const;
const PATH = '/user/passkeys';

export const passkeyRoutes = routes<{ signIn: SignInServices }>(
  { tags: ['Sign-in'], area: 'any' },
  (app, { signIn: services }) => {
    app.open.get(PATH, { ...config, summary: 'List the own passkeys', list: passkey }, async (request) =>
      success(listFactors(services, callerOf(request).session).passkeys.map(passkeyView)),
    );

    app.open.post(
      `${PATH}/options`,
      { ...config, summary: 'What a browser is asked for a new passkey', answer: passkeyOptions },
      async (request) => ({ ...(await startPasskey(services, visitorOf(request), callerOf(request).session)) }),
    );

    app.open.post(
      PATH,
      { ...config, summary: 'Add a passkey', body: newPasskey, answer: passkey },
      async (request, reply) => {
        const { name, passkey: made } = request.body;
        const answer = made as unknown as NewPasskeyAnswer;
        const result = await addPasskey(services, visitorOf(request), callerOf(request).session, { name, answer });
        sessionBegun(services, request, reply, result);
        return passkeyView(result.value);
      },
    );

    app.open.patch(
      `${PATH}/:passkey_id`,
      { ...config, summary: 'Rename a passkey', params: passkeyParams, body: passkeyEdit, answer: passkey },
      async (request) => {
        const { session } = callerOf(request);
        const { passkey_id: id } = request.params;
        return passkeyView(await editPasskey(services, visitorOf(request), session, id, request.body.name));
      },
    );

    app.open.delete(
      `${PATH}/:passkey_id`,
      { ...config, summary: 'Remove a passkey', params: passkeyParams, answer: onlyId },
      async (request, reply) => {
        const { session } = callerOf(request);
        const result = await deletePasskey(services, visitorOf(request), session, request.params.passkey_id);
        sessionBegun(services, request, reply, result);
        return { id: result.value };
      },
    );
  },
);
