/** `/user` and the check of a token (v4: §12). */
import { editUser, getUser } from '../../control/access/accounts.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { answersOne } from '../schema.js';
import { tokenVerification, user, userEdit } from './schema.js';
import { userView, verifyToken } from './view.js';

export const userRoutes = routes({ tags: ['User'] }, (app) => {
  app.get(
    '/user',
    { area: 'user', enrols: true, summary: 'Get the user of the credential', answer: user },
    async (ctx, request) => userView(await getUser(ctx), callerOf(request).mustEnrol),
  );

  app.patch(
    '/user',
    {
      area: 'user',
      oneCommit: true,
      summary: 'Edit the names and addresses of the user',
      body: userEdit,
      answer: user,
    },
    async (ctx, { body }) => userView(await editUser(ctx, body)),
  );

  app.open.get(
    '/user/tokens/verify',
    {
      area: 'any',
      verifiesToken: true,
      summary: 'Check the token of this request',
      response: answersOne(tokenVerification),
    },
    async (request) => verifyToken(request),
  );
});
