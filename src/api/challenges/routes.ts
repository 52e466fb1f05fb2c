/** HTTP challenges, for setups that forward port 80 of a name here; certificate authorities send no credential. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  answerHttpChallenge,
  CHALLENGE_CONTENT_TYPE,
  CHALLENGE_PATH,
  VALIDATION_PATH,
} from '../../certs/http-challenge.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { failure, pathOf } from '../errors.js';

export const challengeRoutes: FastifyPluginAsyncZod<{ base: ContextBase }> = async (app, { base }) => {
  for (const path of [CHALLENGE_PATH, VALIDATION_PATH]) {
    app.get(
      `${path}:token`,
      {
        config: { access: 'public' },
        schema: {
          tags: ['Operations'],
          security: [],
          summary: 'Answer to a challenge of a certificate authority, for the name in Host',
          params: z.object({ token: z.string() }),
          response: { 200: z.string() },
        },
      },
      async (request, reply) => {
        const asked = pathOf(request);
        const body = answerHttpChallenge(base.store, request.headers.host ?? '', asked);
        if (body === undefined) throw failure('unroutable', { path: asked });
        reply.header('content-type', CHALLENGE_CONTENT_TYPE);
        return body;
      },
    );
  }
};
