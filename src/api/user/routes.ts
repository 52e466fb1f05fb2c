/** `/user` and the check of a token (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { editUser, getUser } from '../../control/access/accounts.js';
import { success } from '../envelope.js';
import { type ContextOf, callerOf } from '../request.js';
import { answersOne } from '../schema.js';
import { tokenVerification, user, userEdit } from './schema.js';
import { userView, verifyToken } from './view.js';

const tags = ['User'];

export const userRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/user',
    {
      config: { area: 'user', enrols: true },
      schema: { tags, summary: 'Get the user of the credential', response: answersOne(user) },
    },
    async (request) => success(userView(await getUser(contextOf(request)), callerOf(request).mustEnrol)),
  );

  app.patch(
    '/user',
    {
      config: { area: 'user', oneCommit: true },
      schema: { tags, summary: 'Edit the names and addresses of the user', body: userEdit, response: answersOne(user) },
    },
    async (request) => success(userView(await editUser(contextOf(request), request.body))),
  );

  app.get(
    '/user/tokens/verify',
    {
      config: { area: 'any', verifiesToken: true },
      schema: { tags, summary: 'Check the token of this request', response: answersOne(tokenVerification) },
    },
    async (request) => verifyToken(request),
  );
};
