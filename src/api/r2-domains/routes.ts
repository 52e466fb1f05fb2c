/** `/accounts/{account_id}/r2/buckets/{bucket_name}/domains`: the names at which a bucket is public. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { getBucket } from '../../bucket/buckets.js';
import {
  attachBucketDomain,
  type BucketDomainEdit,
  type BucketDomainItem,
  type BucketPlace,
  detachBucketDomain,
  editBucketDomain,
  getBucketDomain,
  listBucketDomains,
} from '../../bucket/domains.js';
import { bucketFailure } from '../../bucket/errors.js';
import type { Context } from '../../control/kernel/context.js';
import { certificateCoverage } from '../../hostnames/routing/certificate-status.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import { type Routes, routes } from '../routing/route.js';
import {
  attachedDomain,
  bucketDomain,
  domainCreation,
  domainEdit,
  domainParams,
  editedDomain,
  managedDomain,
  managedEdit,
} from './schema.js';
import { attachedView, bucketDomainView, editedView, managedView } from './view.js';

const BASE = '/accounts/:account_id/r2/buckets/:bucket_name/domains';
const ALL = `${BASE}/custom`;
const ONE = `${ALL}/:domain`;
/** Of routes that write. */
const writes = { oneCommit: true } as const;
const headers = bucketHeaders;

export const bucketDomainRoutes = routes({ tags: ['Buckets'], area: 'buckets' }, (app) => {
  const domains = z.object({ domains: z.array(bucketDomain) });
  app.get(
    ALL,
    { summary: 'List the custom domains of a bucket', params: bucketParams, headers, answer: domains },
    async (ctx, request) => {
      const items = await listBucketDomains(ctx, placeOf(request, request.params));
      return { domains: items.map((item) => view(ctx, item)) };
    },
  );
  app.get(
    ONE,
    { summary: 'Get a custom domain of a bucket', params: domainParams, headers, answer: bucketDomain },
    async (ctx, request) => {
      const item = await getBucketDomain(ctx, placeOf(request, request.params), request.params.domain);
      return view(ctx, item);
    },
  );
  app.post(
    ALL,
    {
      ...writes,
      summary: 'Attach a name of a zone to a bucket',
      description:
        'Makes a proxied record of that name; it can be changed only here. The zone needs DNS edit permission.',
      params: bucketParams,
      headers,
      body: domainCreation,
      answer: attachedDomain,
    },
    async (ctx, request) => {
      const { domain, zoneId } = request.body;
      const input = { domain, zoneId, ...editOf(request.body) };
      const item = await attachBucketDomain(ctx, placeOf(request, request.params), input);
      return attachedView(item);
    },
  );
  addChanging(app);
  addManaged(app);
});

interface NamedBucket {
  readonly account_id: string;
  readonly bucket_name: string;
}

function placeOf(request: FastifyRequest, { account_id, bucket_name }: NamedBucket): BucketPlace {
  return { accountId: account_id, name: bucket_name, jurisdiction: jurisdictionOf(request) };
}

function view(ctx: Context, item: BucketDomainItem) {
  return bucketDomainView(item, certificateCoverage(ctx.store, item.domain, item.zone.id, ctx.clock.nowMs()));
}

function editOf({ enabled, minTLS, ciphers }: z.output<typeof domainEdit>): BucketDomainEdit {
  return { enabled, minTls: minTLS, ciphers };
}

function addChanging(app: Routes): void {
  app.put(
    ONE,
    {
      ...writes,
      summary: 'Edit a custom domain of a bucket',
      params: domainParams,
      headers,
      body: domainEdit,
      answer: editedDomain,
    },
    async (ctx, request) => {
      const place = placeOf(request, request.params);
      const item = await editBucketDomain(ctx, place, request.params.domain, editOf(request.body));
      return editedView(item);
    },
  );
  app.delete(
    ONE,
    {
      ...writes,
      summary: 'Detach a custom domain from a bucket, with its record',
      params: domainParams,
      headers,
      answer: z.object({ domain: z.string() }),
    },
    async (ctx, request) => {
      const place = placeOf(request, request.params);
      return { domain: await detachBucketDomain(ctx, place, request.params.domain) };
    },
  );
}

function addManaged(app: Routes): void {
  const schema = { params: bucketParams, headers, answer: managedDomain };
  app.get(
    `${BASE}/managed`,
    { ...schema, summary: 'Get the managed domain of a bucket: there is none' },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      return managedView(await getBucket(ctx, account_id, bucket_name, jurisdictionOf(request)));
    },
  );
  app.put(
    `${BASE}/managed`,
    { ...schema, summary: 'Switch the managed domain of a bucket off', body: managedEdit },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      const item = await getBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
      if (request.body.enabled) throw bucketFailure('notManaged', {}, { pointer: '/enabled' });
      return managedView(item);
    },
  );
}
