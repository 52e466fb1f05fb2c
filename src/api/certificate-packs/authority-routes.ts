/** `/certificate_authorities`: who really issues for each name that clients may ask for (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { AUTHORITY_NAMES } from '../../certs/authority.js';
import { success } from '../envelope.js';
import { answersList } from '../schema.js';
import type { PackRouteOptions } from './routes.js';
import { certificateAuthority } from './schema.js';

export const authorityRoutes: FastifyPluginAsyncZod<PackRouteOptions> = async (app, { certificates }) => {
  app.get(
    '/certificate_authorities',
    {
      config: { area: 'any' },
      schema: {
        tags: ['Certificate packs'],
        summary: 'List the certificate authorities, and who really issues for each',
        response: answersList(certificateAuthority),
      },
    },
    async () =>
      success(
        AUTHORITY_NAMES.map((name) => ({
          name,
          issued_by: certificates.authorities.isOutside(name) ? name : ('built_in' as const),
        })),
      ),
  );
};
