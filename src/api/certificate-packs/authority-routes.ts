/** `/certificate_authorities`: who really issues for each name that clients may ask for (ours). */
import { AUTHORITY_NAMES } from '../../certs/authority.js';
import { success } from '../envelope.js';
import type { AddRoutes } from '../routing/route.js';
import type { PackRouteOptions } from './routes.js';
import { certificateAuthority } from './schema.js';

export const authorityRoutes: AddRoutes<PackRouteOptions> = (app, { certificates }) => {
  app.open.get(
    '/certificate_authorities',
    {
      area: 'any',
      tags: ['Certificate packs'],
      summary: 'List the certificate authorities, and who really issues for each',
      list: certificateAuthority,
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
