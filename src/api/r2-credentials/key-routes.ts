/** `/accounts/{account_id}/r2/buckets/{bucket_name}/keys` and `/links`, which are ours: access keys of one bucket, and signed links. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { createBucketKey, type LinkSigner, LONGEST_LINK, makeLink } from '../../bucket/credentials/keys.js';
import { bucketFailure } from '../../bucket/errors.js';
import { success } from '../envelope.js';
import { bucketParams } from '../r2-buckets/schema.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersOne } from '../schema.js';
import { printTime } from '../times.js';

interface KeyRouteOptions {
  readonly contextOf: ContextOf;
  readonly links: LinkSigner | undefined;
}

const ONE = '/accounts/:account_id/r2/buckets/:bucket_name';
const common = { tags: ['Buckets'], params: bucketParams };

const keyWish = z
  .strictObject({
    read_only: z.boolean().optional().describe('Reading and listing only'),
    expires_on: z.string().optional().describe('Time as RFC 3339 has it; absent: never'),
  })
  .meta({ id: 'BucketKeyWish' });

const bucketKey = z
  .object({
    access_key_id: z.string().describe('Identifier of the token'),
    secret_access_key: z.string().describe('Returned only here'),
    endpoint: z.string().describe('Where clients reach the S3 API'),
    region: z.string(),
    bucket: z.string(),
    expires_on: z.string().nullable(),
  })
  .meta({ id: 'BucketKey' });

const linkWish = z
  .strictObject({
    key: z.string().describe('Of the object'),
    method: z.enum(['GET', 'PUT']).optional().describe('`GET` unless it is given'),
    expires: z.int().min(1).max(LONGEST_LINK).describe('Seconds for which it holds'),
    access_key_id: z.string().optional().describe('The token that signs it; absent: one of yours that may do no more'),
  })
  .meta({ id: 'ObjectLinkWish' });

const link = z
  .object({ url: z.string(), access_key_id: z.string().describe('The token with which it ends') })
  .meta({ id: 'ObjectLink' });

export type BucketKey = z.output<typeof bucketKey>;
export type ObjectLink = z.output<typeof link>;

export const bucketKeyRoutes: FastifyPluginAsyncZod<KeyRouteOptions> = async (app, options) => {
  addKeys(app, options);
  addLinks(app, options);
};

function requireLinks(links: LinkSigner | undefined): LinkSigner {
  if (!links) throw bucketFailure('noRoute');
  return links;
}

function addKeys(app: RouteScope, { contextOf, links }: KeyRouteOptions): void {
  app.post(
    `${ONE}/keys`,
    {
      config: { area: 'userTokens', oneCommit: true },
      schema: {
        ...common,
        summary: 'Make an access key of S3 clients for one bucket: a token of yours',
        body: keyWish,
        response: answersOne(bucketKey),
      },
    },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      const { endpoint } = requireLinks(links);
      const place = { accountId: account_id, name: bucket_name, jurisdiction: 'default' as const };
      const wish = { isReadOnly: request.body.read_only === true, expiresOn: request.body.expires_on };
      const { id, secretAccessKey, expiresAt } = await createBucketKey(contextOf(request), place, wish);
      return success({
        access_key_id: id,
        secret_access_key: secretAccessKey,
        endpoint: endpoint.origin,
        region: 'auto',
        bucket: bucket_name,
        expires_on: expiresAt === null ? null : printTime(expiresAt),
      });
    },
  );
}

function addLinks(app: RouteScope, { contextOf, links }: KeyRouteOptions): void {
  app.post(
    `${ONE}/links`,
    {
      // What it needs depends on the method: makeLink asks.
      config: { area: 'any' },
      schema: {
        ...common,
        summary: 'Sign a link with which anybody may read or store one object for a time',
        body: linkWish,
        response: answersOne(link),
      },
    },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      const place = { accountId: account_id, name: bucket_name, jurisdiction: 'default' as const };
      const { key, method = 'GET', expires, access_key_id: signer } = request.body;
      const made = makeLink(contextOf(request), place, { key, method, expires, signer }, requireLinks(links));
      return success({ url: made.url, access_key_id: made.accessKeyId });
    },
  );
}
