/** `/accounts/{account_id}/r2/temp-access-credentials`: temporary credentials of S3 clients (v4: §13). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { LONGEST_TTL, PERMISSIONS } from '../../bucket/credentials/session-token.js';
import { createTemporaryCredentials } from '../../bucket/credentials/temporary.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';

export interface CredentialRouteOptions {
  readonly contextOf: ContextOf;
  /** Host and port at which clients reach the S3 API. */
  readonly s3Host: string;
}

const MOST_PATHS = 100;
const paths = z.array(z.string().min(1).max(1024)).max(MOST_PATHS).optional();

const wish = z
  .object({
    bucket: z.string(),
    parentAccessKeyId: z.string().describe('The token whose secret signs them'),
    permission: z.enum(PERMISSIONS),
    ttlSeconds: z.number().int().min(1).max(LONGEST_TTL),
    objects: paths.describe('Only these keys'),
    prefixes: paths.describe('Only keys that begin so'),
  })
  .meta({ id: 'TemporaryCredentialsWish' });

const credentials = z
  .object({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string() })
  .meta({ id: 'TemporaryCredentials' });

export const credentialRoutes: FastifyPluginAsyncZod<CredentialRouteOptions> = async (app, { contextOf, s3Host }) => {
  app.post(
    '/accounts/:account_id/r2/temp-access-credentials',
    {
      // What they may do is checked whenever they are used: never more than their parent.
      config: { area: 'any' },
      schema: {
        tags: ['Buckets'],
        summary: 'Make temporary credentials for S3 clients',
        params: accountParams,
        body: wish,
        response: answersOne(credentials),
      },
    },
    async (request) => {
      const { account_id } = request.params;
      return success(await createTemporaryCredentials(contextOf(request), account_id, request.body, s3Host));
    },
  );
};
