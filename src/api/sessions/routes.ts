/** `/user/sessions` (ours): what the dashboard works with instead of keeping a credential. */
import type { FastifyRequest } from 'fastify';
import { endSession, listSessions, startSession } from '../../control/access/sessions.js';
import { accountFailure } from '../../control/guard/account-failures.js';
import { linkOf } from '../auth.js';
import { success } from '../envelope.js';
import { failure } from '../errors.js';
import { callerOf } from '../request.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { setSessionCookie } from './cookie.js';
import { session, sessionParams } from './schema.js';
import { sessionView } from './view.js';

const PATH = '/user/sessions';
/** The use case decides what is shown, also to who must enrol a second factor first. */
const config = { enrols: true } as const;

export const sessionRoutes = routes({ tags: ['User'], area: 'any' }, (app) => {
  app.post(
    PATH,
    {
      signsIn: true,
      summary: 'Exchange the credential of this request for a session, which is set as a cookie',
      answer: session,
    },
    async (ctx, request, reply) => {
      if (callerOf(request).session !== undefined) throw failure('needsCredential');
      const link = linkOf(request.headers);
      const userAgent = request.headers['user-agent'] ?? '';
      const started = await startSession(ctx, { userAgent, ...(link !== undefined && { link }) });
      const { secret, session: item } = started;
      const seconds = Math.floor((item.expiresAt - item.createdAt) / 1_000_000);
      setSessionCookie(ctx.store, request, reply, { secret, seconds });
      return sessionView(item, item.id);
    },
  );

  app.get(PATH, { ...config, summary: 'List sessions', list: session }, async (ctx, request) => {
    const items = await listSessions(ctx);
    return success(items.map((item) => sessionView(item, callerOf(request).session)));
  });

  app.get(
    `${PATH}/:session_id`,
    { ...config, summary: 'Get a session', params: sessionParams, answer: session },
    async (ctx, request) => {
      const id = idOf(request, request.params.session_id);
      const item = (await listSessions(ctx)).find((candidate) => candidate.id === id);
      if (!item) throw accountFailure('sessionMissing', { id: id.slice(0, 64) });
      return sessionView(item, callerOf(request).session);
    },
  );

  app.delete(
    `${PATH}/:session_id`,
    { ...config, summary: 'End a session', params: sessionParams, answer: onlyId },
    async (ctx, request, reply) => {
      const id = await endSession(ctx, idOf(request, request.params.session_id));
      if (id === callerOf(request).session) setSessionCookie(ctx.store, request, reply, { seconds: 0 });
      return { id };
    },
  );
});

/** `current` is the session of the request. Throws 400 when it has none. */
function idOf(request: FastifyRequest, text: string): string {
  if (text !== 'current') return text;
  const { session: own } = callerOf(request);
  if (own === undefined) throw accountFailure('noSession');
  return own;
}
