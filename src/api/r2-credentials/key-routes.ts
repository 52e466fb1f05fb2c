/** `/accounts/{account_id}/r2/buckets/{bucket_name}/keys` and `/links`, which are ours: access keys of one bucket, and signed links. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { createBucketKey, type LinkSigner, makeLink } from '../../bucket/credentials/keys.js';
import { bucketFailure } from '../../bucket/errors.js';
import { success } from '../envelope.js';
import { bucketParams } from '../r2-buckets/schema.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersOne } from '../schema.js';
import { printTime } from '../times.js';
import { bucketKey, keyWish, link, linkWish } from './schema.js';

interface KeyRouteOptions {
  readonly contextOf: ContextOf;
  readonly links: LinkSigner | undefined;
}

const ONE = '/accounts/:account_id/r2/buckets/:bucket_name';
const common = { tags: ['Buckets'], params: bucketParams };

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
