/** `/accounts/{account_id}/r2/temp-access-credentials`: temporary credentials of S3 clients (v4: §13). */
import { z } from 'zod';
import { LONGEST_TTL, PERMISSIONS } from '../../bucket/credentials/session-token.js';
import { createTemporaryCredentials } from '../../bucket/credentials/temporary.js';
import { accountParams } from '../accounts/schema.js';
import type { AddRoutes } from '../routing/route.js';

export interface CredentialRouteOptions {
  /** Host and port at which clients reach the S3 API. */
  readonly s3Host: string;
}

const MOST_PATHS = 100;
const paths = z.array(z.string().min(1).max(1024)).max(MOST_PATHS).optional();

const temporaryBody = z
  .object({
    bucket: z.string(),
    parentAccessKeyId: z.string().describe('The token whose secret signs them'),
    permission: z.enum(PERMISSIONS),
    ttlSeconds: z.number().int().min(1).max(LONGEST_TTL),
    objects: paths.describe('Only these keys'),
    prefixes: paths.describe('Only keys that begin so'),
  })
  .meta({ id: 'TemporaryCredentialsBody' });

const credentials = z
  .object({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string() })
  .meta({ id: 'TemporaryCredentials' });

export const credentialRoutes: AddRoutes<CredentialRouteOptions> = (app, { s3Host }) => {
  app.post(
    '/accounts/:account_id/r2/temp-access-credentials',
    {
      // What they may do is checked whenever they are used: never more than their parent.
      area: 'any',
      tags: ['Buckets'],
      summary: 'Make temporary credentials for S3 clients',
      params: accountParams,
      body: temporaryBody,
      answer: credentials,
    },
    async (ctx, { params: { account_id }, body }) => createTemporaryCredentials(ctx, account_id, body, s3Host),
  );
};
