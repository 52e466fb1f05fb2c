/** `/accounts/{account_id}/r2/buckets/{bucket_name}/domains`: the names at which a bucket is public. */
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success } from '../envelope.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answersOne } from '../schema.js';
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

const tags = ['Buckets'];
const BASE = '/accounts/:account_id/r2/buckets/:bucket_name/domains';
const ALL = `${BASE}/custom`;
const ONE = `${ALL}/:domain`;
const config = { area: 'buckets' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;
const headers = bucketHeaders;

interface DomainRouteOptions {
  readonly contextOf: ContextOf;
}

export const bucketDomainRoutes: FastifyPluginAsyncZod<DomainRouteOptions> = async (app, options) => {
  addReading(app, options);
  addAttaching(app, options);
  addChanging(app, options);
  addManaged(app, options);
};

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

function addReading(app: RouteScope, { contextOf }: DomainRouteOptions): void {
  const domains = z.object({ domains: z.array(bucketDomain) });
  app.get(
    ALL,
    {
      config,
      schema: {
        tags,
        summary: 'List the custom domains of a bucket',
        params: bucketParams,
        headers,
        response: answersOne(domains),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const items = await listBucketDomains(context, placeOf(request, request.params));
      return success({ domains: items.map((item) => view(context, item)) });
    },
  );
  app.get(
    ONE,
    {
      config,
      schema: {
        tags,
        summary: 'Get a custom domain of a bucket',
        params: domainParams,
        headers,
        response: answersOne(bucketDomain),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const item = await getBucketDomain(context, placeOf(request, request.params), request.params.domain);
      return success(view(context, item));
    },
  );
}

function addAttaching(app: RouteScope, { contextOf }: DomainRouteOptions): void {
  app.post(
    ALL,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Attach a name of a zone to a bucket',
        description:
          'Makes a proxied record of that name; it can be changed only here. The zone needs DNS edit permission.',
        params: bucketParams,
        headers,
        body: domainCreation,
        response: answersOne(attachedDomain),
      },
    },
    async (request) => {
      const { domain, zoneId } = request.body;
      const input = { domain, zoneId, ...editOf(request.body) };
      const item = await attachBucketDomain(contextOf(request), placeOf(request, request.params), input);
      return success(attachedView(item));
    },
  );
}

function addChanging(app: RouteScope, { contextOf }: DomainRouteOptions): void {
  app.put(
    ONE,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Edit a custom domain of a bucket',
        params: domainParams,
        headers,
        body: domainEdit,
        response: answersOne(editedDomain),
      },
    },
    async (request) => {
      const place = placeOf(request, request.params);
      const item = await editBucketDomain(contextOf(request), place, request.params.domain, editOf(request.body));
      return success(editedView(item));
    },
  );
  app.delete(
    ONE,
    {
      config: writes,
      schema: {
        tags,
        summary: 'Detach a custom domain from a bucket, with its record',
        params: domainParams,
        headers,
        response: answersOne(z.object({ domain: z.string() })),
      },
    },
    async (request) => {
      const place = placeOf(request, request.params);
      return success({ domain: await detachBucketDomain(contextOf(request), place, request.params.domain) });
    },
  );
}

function addManaged(app: RouteScope, { contextOf }: DomainRouteOptions): void {
  const schema = { tags, params: bucketParams, headers, response: answersOne(managedDomain) };
  app.get(
    `${BASE}/managed`,
    { config, schema: { ...schema, summary: 'Get the managed domain of a bucket: there is none' } },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      return success(
        managedView(await getBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request))),
      );
    },
  );
  app.put(
    `${BASE}/managed`,
    { config, schema: { ...schema, summary: 'Switch the managed domain of a bucket off', body: managedEdit } },
    async (request) => {
      const { account_id, bucket_name } = request.params;
      const item = await getBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request));
      if (request.body.enabled) throw bucketFailure('notManaged', {}, { pointer: '/enabled' });
      return success(managedView(item));
    },
  );
}
