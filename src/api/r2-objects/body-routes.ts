/**
 * `/accounts/{account_id}/r2/buckets/{bucket_name}/objects/{key}`: the objects themselves (v4: §13). Bodies are
 * streamed both ways and never held completely, whatever their content type.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireBucket } from '../../bucket/access.js';
import { lasting } from '../../bucket/bodies/pieces.js';
import { objectFailure } from '../../bucket/errors.js';
import { isObjectKey, type ObjectItem, type ObjectStore } from '../../bucket/object-store.js';
import { isBrokenOff } from '../../bucket/receive-body.js';
import { sendObject, sendObjectHead, watchAnswer } from '../../bucket/send-object.js';
import { bodyOf, lookNowAndThen, storeObject } from '../../bucket/store-object.js';
import { requireWriter } from '../../control/guard/access.js';
import type { Context } from '../../control/kernel/context.js';
import { jurisdictionOf, storageClassOf } from '../r2-buckets/request.js';
import { bucketHeaders } from '../r2-buckets/schema.js';
import type { RouteScope } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { failureEnvelope } from '../schema.js';
import { OBJECT_AREA } from './at-once.js';
import { objectKeyOf } from './key.js';
import { OBJECTS } from './list-routes.js';
import { type ObjectRouteOptions, stillCurrent } from './routes.js';
import { objectParams, onlyKey, readHeaders, UPLOAD_LIMIT_BYTES, uploaded, uploadHeaders } from './schema.js';
import { uploadedView } from './view.js';

const ONE = `${OBJECTS}/*`;
/** The rest of a refused body is read up to this many octets, so that the client can read the refusal. */
const MOST_DISCARDED = 8 << 20;

const octets = z.string().describe('The octets of the object').meta({ format: 'binary' });

export const objectBodyRoutes = routes<ObjectRouteOptions>({ tags: ['Buckets'] }, async (app, options) => {
  await app.scope.register(async (scope: RouteScope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    const bodies = app.below(scope);
    addReading(bodies, options);
    addUpload(bodies, options);
    addDeletion(bodies, options);
  });
});

function addReading(app: Routes, { objects }: ObjectRouteOptions): void {
  const read = async (ctx: Context, request: FastifyRequest<object>, reply: FastifyReply): Promise<FastifyReply> => {
    const { account_id, bucket_name } = request.params as z.output<typeof objectParams>;
    const bucket = requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
    const key = requireKey(request);
    watchAnswer(ctx.clock, reply.raw, ctx.requireStill);
    return request.method === 'HEAD'
      ? sendObjectHead(objects.find(bucket.seq, key), request, reply)
      : sendObject((client) => objects.open(bucket.seq, key, client), request, reply, ctx.random);
  };
  const response = { 200: octets, 206: octets, '4xx': failureEnvelope, '5xx': failureEnvelope } as never;
  app.get(
    ONE,
    {
      ...OBJECT_AREA,
      exposeHeadRoute: false,
      summary: 'Get an object',
      params: objectParams,
      headers: readHeaders,
      response,
    },
    read,
  );
  app.head(ONE, { ...OBJECT_AREA, hide: true, params: objectParams }, read);
}

function addUpload(app: Routes, { objects }: ObjectRouteOptions): void {
  app.put(
    ONE,
    {
      area: 'objects',
      rawBody: true,
      oneCommit: 'small body',
      summary: 'Upload an object',
      consumes: ['application/octet-stream'],
      params: objectParams,
      headers: uploadHeaders,
      body: octets,
      answer: uploaded,
    },
    async (ctx, request, reply) => {
      try {
        // Before anything refuses the request, which may begin again then.
        if (ctx.readPoint) await keepBody(request);
        requireWriter(ctx.actor);
        const { account_id, bucket_name } = request.params;
        const bucket = requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
        return uploadedView(await upload(objects, bucket.seq, request, ctx));
      } catch (error) {
        discardRest(request, reply);
        throw error;
      }
    },
  );
}

function addDeletion(app: Routes, { objects }: ObjectRouteOptions): void {
  app.delete(
    ONE,
    {
      area: 'objects',
      oneCommit: true,
      summary: 'Delete an object',
      params: objectParams,
      headers: bucketHeaders,
      answer: onlyKey,
    },
    async (ctx, request) => {
      requireWriter(ctx.actor);
      const { account_id, bucket_name } = request.params;
      const bucket = requireBucket(ctx, account_id, bucket_name, jurisdictionOf(request));
      const key = requireKey(request);
      await objects.delete(bucket.seq, [key], stillCurrent(ctx, request.caller));
      return { key };
    },
  );
}

function requireKey(request: FastifyRequest): string {
  const key = objectKeyOf(request);
  if (key === '' || !isObjectKey(key)) throw objectFailure('badKey');
  return key;
}

function upload(objects: ObjectStore, bucket: number, request: FastifyRequest, context: Context): Promise<ObjectItem> {
  return storeObject(objects, bucket, requireKey(request), {
    headers: request.headers,
    body: watched(octetsOf(request.body as IncomingMessage | Buffer | undefined), context),
    limit: UPLOAD_LIMIT_BYTES,
    storageClass: storageClassOf(request),
    beforeWrite: stillCurrent(context, request.caller),
  });
}

/** Ends with an error when the caller may not write any more. */
async function* watched(
  octets: AsyncIterable<Uint8Array>,
  { clock, requireStill = () => {} }: Context,
): AsyncGenerator<Uint8Array> {
  const look = lookNowAndThen(clock, requireStill);
  for await (const piece of octets) {
    look();
    yield piece;
  }
}

/** A small body is read once, so that the handler can run again. */
async function keepBody(request: FastifyRequest): Promise<void> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of lasting(octetsOf(request.body as IncomingMessage | undefined))) pieces.push(piece);
  } catch (error) {
    throw isBrokenOff(error) ? objectFailure('incomplete') : error;
  }
  request.body = Buffer.concat(pieces);
}

async function* octetsOf(body: IncomingMessage | Buffer | undefined): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else if (body) yield* bodyOf(body);
}

function discardRest({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (raw.readableEnded || raw.destroyed) return;
  if (Number(headers['content-length'] ?? 0) > MOST_DISCARDED || headers['transfer-encoding'] !== undefined) {
    reply.header('connection', 'close');
  }
  raw.resume();
}
