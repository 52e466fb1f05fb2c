/** `/ca.pem`: the root of the built-in certificate authority, for clients that want to trust it. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { storedRootsPem } from '../../certs/embedded/issuers.js';
import type { ContextBase } from '../../control/kernel/context.js';

export const authorityRootRoutes: FastifyPluginAsyncZod<{ base: ContextBase }> = async (app, { base }) => {
  app.get(
    '/ca.pem',
    {
      config: { access: 'public' },
      schema: {
        tags: ['Operations'],
        security: [],
        summary: 'Root certificate of the built-in certificate authority, PEM',
        response: { 200: z.string().meta({ contentMediaType: 'application/x-pem-file' }) },
      },
    },
    async (_request, reply) => {
      reply.header('content-type', 'application/x-pem-file');
      return storedRootsPem(base.store, base.clock.nowMs());
    },
  );
};
