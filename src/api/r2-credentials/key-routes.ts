/** `/accounts/{account_id}/r2/buckets/{bucket_name}/keys` and `/links`, which are ours: access keys of one bucket, and signed links. */
import { createBucketKey, type LinkSigner, makeLink } from '../../bucket/credentials/keys.js';
import { bucketFailure } from '../../bucket/errors.js';
import { bucketParams } from '../r2-buckets/schema.js';
import type { AddRoutes, Routes } from '../routing/route.js';
import { printTime } from '../times.js';
import { bucketKey, keyBody, link, objectLinkBody } from './schema.js';

interface KeyRouteOptions {
  readonly links: LinkSigner | undefined;
}

const ONE = '/accounts/:account_id/r2/buckets/:bucket_name';
const common = { tags: ['Buckets'], params: bucketParams };

export const bucketKeyRoutes: AddRoutes<KeyRouteOptions> = (app, options) => {
  addKeys(app, options);
  addLinks(app, options);
};

function requireLinks(links: LinkSigner | undefined): LinkSigner {
  if (!links) throw bucketFailure('noRoute');
  return links;
}

function addKeys(app: Routes, { links }: KeyRouteOptions): void {
  app.post(
    `${ONE}/keys`,
    {
      area: 'userTokens',
      oneCommit: true,
      ...common,
      summary: 'Make an access key of S3 clients for one bucket: a token of yours',
      body: keyBody,
      answer: bucketKey,
    },
    async (ctx, { params: { account_id, bucket_name }, body }) => {
      const { endpoint } = requireLinks(links);
      const place = { accountId: account_id, name: bucket_name, jurisdiction: 'default' as const };
      const wanted = { isReadOnly: body.read_only === true, expiresOn: body.expires_on };
      const { id, secretAccessKey, expiresAt } = await createBucketKey(ctx, place, wanted);
      return {
        access_key_id: id,
        secret_access_key: secretAccessKey,
        endpoint: endpoint.origin,
        region: 'auto',
        bucket: bucket_name,
        expires_on: expiresAt === null ? null : printTime(expiresAt),
      };
    },
  );
}

function addLinks(app: Routes, { links }: KeyRouteOptions): void {
  app.post(
    `${ONE}/links`,
    {
      // What it needs depends on the method: makeLink asks.
      area: 'any',
      ...common,
      summary: 'Sign a link with which anybody may read or store one object for a time',
      body: objectLinkBody,
      answer: link,
    },
    async (
      ctx,
      { params: { account_id, bucket_name }, body: { key, method = 'GET', expires, access_key_id: signer } },
    ) => {
      const place = { accountId: account_id, name: bucket_name, jurisdiction: 'default' as const };
      const made = await makeLink(ctx, place, { key, method, expires, signer }, requireLinks(links));
      return { url: made.url, access_key_id: made.accessKeyId };
    },
  );
}
