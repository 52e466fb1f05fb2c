/** `/accounts/{account_id}/r2/buckets/{bucket_name}/objects`: delete many objects (v4: §13). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireBucket } from '../../bucket/access.js';
import { objectFailure } from '../../bucket/errors.js';
import { type BeforeWrite, isObjectKey, type ObjectStore } from '../../bucket/object-store.js';
import { requireWriter } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { requireCurrent } from '../../control/kernel/read-point.js';
import { bodyFailure } from '../body.js';
import { success } from '../envelope.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { OBJECTS } from './list-routes.js';
import { onlyKey } from './schema.js';

const tags = ['Buckets'];
const MOST_KEYS = 1000;

export interface ObjectRouteOptions {
  readonly contextOf: ContextOf;
  readonly objects: ObjectStore;
}

export const objectRoutes: FastifyPluginAsyncZod<ObjectRouteOptions> = async (app, { contextOf, objects }) => {
  app.delete(
    OBJECTS,
    {
      config: { area: 'objects' },
      schema: {
        tags,
        summary: 'Delete up to 1000 objects',
        params: bucketParams,
        headers: bucketHeaders,
        body: z.array(z.string()).max(MOST_KEYS).describe('Their keys'),
        response: answersOne(z.array(onlyKey)),
      },
    },
    async (request) => {
      const context = contextOf(request);
      requireWriter(context.actor);
      const { account_id, bucket_name } = request.params;
      const bucket = requireBucket(context, account_id, bucket_name, jurisdictionOf(request));
      const keys = requireKeys(request.body);
      await objects.delete(bucket.seq, keys, stillCurrent(context));
      return success(keys.map((key) => ({ key })));
    },
  );

  // A path that ends before the key arrives here, because the router removes its last slash.
  const keyless = { config: { area: 'objects', rawBody: true }, schema: { hide: true, params: bucketParams } } as const;
  app.put(OBJECTS, keyless, async (request) => {
    const context = contextOf(request);
    requireWriter(context.actor);
    const { account_id, bucket_name } = request.params;
    requireBucket(context, account_id, bucket_name, jurisdictionOf(request));
    throw objectFailure('badKey');
  });
};

/** For writes that are not commits: what a commit asks first. */
export function stillCurrent({ store, readPoint, requireStill }: Context): BeforeWrite {
  return () => {
    if (readPoint) requireCurrent(store, readPoint);
    requireStill?.();
  };
}

function requireKeys(body: unknown): string[] {
  if (!Array.isArray(body)) throw bodyFailure('it is not a JSON array of keys');
  if (body.length > MOST_KEYS) throw bodyFailure(`it contains more than ${MOST_KEYS} keys`);
  if (!body.every((key) => typeof key === 'string' && key !== '' && isObjectKey(key))) throw objectFailure('badKey');
  return body;
}
