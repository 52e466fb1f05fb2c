/** `/user/sign_in/oidc` (ours): to an identity provider and back. What goes wrong is said on the sign-in page, beside the other ways. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.js';
import type { Begun } from '../../sign-in/begin.js';
import { beginAtProvider, endByProvider, finishAtProvider, ownPath } from '../../sign-in/oidc/flow.js';
import type { SignInServices } from '../../sign-in/services.js';
import { success } from '../envelope.js';
import { failure } from '../errors.js';
import { textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { readFlowCookie, setFlowCookie } from '../sessions/cookie.js';
import { sessionBegun, visitorOf } from '../sign-in/answer.js';
import { linkBody, location, providerParams } from './schema.js';

const PUBLIC = { access: 'public' } as const;

export const ssoRoutes = routes<{ signIn: SignInServices }>({ tags: ['Sign-in'] }, (app, { signIn: services }) => {
  const { store } = services.base;

  app.open.get(
    '/user/sign_in/oidc/:provider_id',
    { ...PUBLIC, summary: 'Go to an identity provider', params: providerParams },
    async (request, reply) =>
      orSayWhy(request, reply, async () => {
        const to = ownPath(textValue(queryOf(request), 'return'));
        const { location: there, kept } = await beginAtProvider(services, request.params.provider_id, { to });
        setFlowCookie(store, request, reply, kept);
        return there;
      }),
  );

  app.open.get(
    '/user/sign_in/oidc/:provider_id/callback',
    { ...PUBLIC, summary: 'Come back from an identity provider', params: providerParams },
    async (request, reply) =>
      orSayWhy(request, reply, async () => {
        const kept = readFlowCookie(store, request);
        setFlowCookie(store, request, reply, '');
        const query = request.url.split('?', 2)[1] ?? '';
        const { provider_id: id } = request.params;
        const { begun, to } = await finishAtProvider(services, visitorOf(request), id, { query, kept });
        return placeAfter(services, request, reply, begun, to);
      }),
  );

  app.open.post(
    '/user/sign_in/oidc/:provider_id/logout',
    { ...PUBLIC, rawBody: true, summary: 'A provider says that somebody has signed out there', params: providerParams },
    async (request) => {
      const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
      const token = new URLSearchParams(text).get('logout_token');
      if (token === null || token.length > 20_000) throw failure('badRequest', { detail: 'logout_token is missing' });
      await endByProvider(services, visitorOf(request), request.params.provider_id, token);
      return success({});
    },
  );

  app.open.post(
    '/user/sso_link',
    {
      area: 'any',
      enrols: true,
      needsSession: true,
      summary: 'Begin to link oneself at an identity provider to oneself here',
      body: linkBody,
      answer: location,
    },
    async (request, reply) => {
      const { session } = callerOf(request);
      const to = { to: '/profile', ...(session !== undefined && { session }) };
      const { location: there, kept } = await beginAtProvider(services, request.body.provider, to);
      setFlowCookie(store, request, reply, kept);
      return { location: there };
    },
  );
});

function placeAfter(
  services: SignInServices,
  request: FastifyRequest,
  reply: FastifyReply,
  begun: Begun,
  to: string,
): string {
  if ('challenge' in begun) {
    return `/sign-in?to=${encodeURIComponent(to)}#second=${begun.challenge}.${begun.methods.join('.')}`;
  }
  sessionBegun(services, request, reply, begun);
  return to;
}

/** A refusal leads to the sign-in page, which offers other methods. The fragment names only the refusal, for clocks with the time. */
async function orSayWhy(
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<string>,
): Promise<FastifyReply> {
  try {
    return await reply.redirect(await work(), 302);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    request.log.info({ requestId: request.id, refusal: error.key }, 'a sign-in at a provider was refused');
    const key = error.key.replace(/^.*\./, '');
    const [time] = key === 'clocksApart' ? (/\d{4}-[\dT:.-]+Z/.exec(error.message) ?? []) : [];
    return reply.redirect(`/sign-in#problem=${key}${time === undefined ? '' : `.${time}`}`, 302);
  }
}
