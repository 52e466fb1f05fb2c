/** `/accounts/{account_id}/r2/buckets/{bucket_name}/objects`: delete many objects (v4: §13). */
import { z } from 'zod';
import { requireBucket } from '../../bucket/access.js';
import { objectFailure } from '../../bucket/errors.js';
import { type BeforeWrite, isObjectKey, type ObjectStore } from '../../bucket/object-store.js';
import { isUnchangedSince } from '../../control/access/authentication.js';
import { requireWriter } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { requireCurrent } from '../../control/kernel/read-point.js';
import { bodyFailure } from '../body.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import type { Caller } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { OBJECTS } from './list-routes.js';
import { onlyKey } from './schema.js';

const tags = ['Buckets'];
const MOST_KEYS = 1000;

export interface ObjectRouteOptions {
  readonly objects: ObjectStore;
}

export const objectRoutes: AddRoutes<ObjectRouteOptions> = (app, { objects }) => {
  app.delete(
    OBJECTS,
    {
      area: 'objects',
      tags,
      summary: 'Delete up to 1000 objects',
      params: bucketParams,
      headers: bucketHeaders,
      body: z.array(z.string()).max(MOST_KEYS).describe('Their keys'),
      answer: z.array(onlyKey),
    },
    async (ctx, request) => {
      requireWriter(ctx.actor);
      const { account_id, bucket_name } = request.params;
      const bucket = requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
      const keys = requireKeys(request.body);
      await objects.delete(bucket.seq, keys, stillCurrent(ctx, request.caller));
      return keys.map((key) => ({ key }));
    },
  );

  // A path that ends before the key arrives here, because the router removes its last slash.
  const keyless = { area: 'objects', rawBody: true, hide: true, params: bucketParams } as const;
  app.put(OBJECTS, keyless, async (ctx, request) => {
    requireWriter(ctx.actor);
    const { account_id, bucket_name } = request.params;
    requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
    throw objectFailure('badKey');
  });
};

/** For writes of objects, which are not commits: what a commit asks first. */
export function stillCurrent(ctx: Context, caller: Caller | null): BeforeWrite {
  const { store, readPoint, requireStill } = ctx;
  return () => {
    if (readPoint) requireCurrent(store, readPoint);
    // Sessions end by themselves.
    if (caller?.key && caller.session === undefined && isUnchangedSince(ctx, caller.state, caller.key)) return;
    requireStill?.();
  };
}

function requireKeys(body: unknown): string[] {
  if (!Array.isArray(body)) throw bodyFailure('it is not a JSON array of keys');
  if (body.length > MOST_KEYS) throw bodyFailure(`it contains more than ${MOST_KEYS} keys`);
  if (!body.every((key) => typeof key === 'string' && key !== '' && isObjectKey(key))) throw objectFailure('badKey');
  return body;
}
