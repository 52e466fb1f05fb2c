/**
 * `/accounts/{account_id}/r2/buckets/{bucket_name}/objects/{key}`: objects themselves (v4: §13). Bodies are streamed both ways,
 * never held as a whole, whatever their content type says.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireBucket } from '../../bucket/buckets.js';
import { objectFailure } from '../../bucket/errors.js';
import { objectHeaders, readMetadata } from '../../bucket/metadata.js';
import { isObjectKey, type ObjectItem, type ObjectStore, type OpenObject } from '../../bucket/object-store.js';
import { requireWriter } from '../../control/access/access.js';
import { judgeRead, judgeWrite } from '../../http/conditions.js';
import { chooseRange } from '../../http/range.js';
import { success } from '../envelope.js';
import { headerText, jurisdictionOf, storageClassOf } from '../r2-buckets/request.js';
import { bucketHeaders } from '../r2-buckets/schema.js';
import { answersOne, failureEnvelope } from '../schema.js';
import { objectKeyOf } from './key.js';
import { OBJECTS, type ObjectRouteOptions } from './routes.js';
import { objectParams, onlyKey, readHeaders, uploaded, uploadHeaders } from './schema.js';
import { uploadedView } from './view.js';

const tags = ['Buckets'];
const ONE = `${OBJECTS}/*`;
/** Largest object this way in, octets (v4: §1.1; wrangler's own limit). */
export const UPLOAD_LIMIT_BYTES = 300 * 1024 * 1024;
/** The rest of a refused body is read up to this length, so that the client gets to read the refusal, octets. */
const MOST_DISCARDED = 8 << 20;
/** What a 304 repeats of the object (RFC 9110 §15.4.5). */
const KEPT_WHEN_NOT_MODIFIED = ['etag', 'last-modified', 'cache-control', 'expires'];

const octets = z.string().describe('The octets of the object').meta({ format: 'binary' });

export const objectBodyRoutes: FastifyPluginAsyncZod<ObjectRouteOptions> = async (app, { contextOf, objects }) => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { account_id, bucket_name } = request.params as z.output<typeof objectParams>;
    const bucket = requireBucket(contextOf(request), account_id, bucket_name, jurisdictionOf(request));
    const key = requireKey(request);
    return request.method === 'HEAD'
      ? answerHead(objects.find(bucket.seq, key), request, reply)
      : answerBody(await objects.open(bucket.seq, key), request, reply);
  };

  app.get(
    ONE,
    {
      config: { area: 'objects' },
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'Get an object',
        params: objectParams,
        headers: readHeaders,
        response: { 200: octets, 206: octets, '4xx': failureEnvelope, '5xx': failureEnvelope },
      },
    },
    read as never,
  );
  app.head(ONE, { config: { area: 'objects' }, schema: { hide: true, params: objectParams } }, read as never);

  app.put(
    ONE,
    {
      config: { area: 'objects', rawBody: true },
      schema: {
        tags,
        summary: 'Upload an object',
        consumes: ['application/octet-stream'],
        params: objectParams,
        headers: uploadHeaders,
        body: octets,
        response: answersOne(uploaded),
      },
    },
    async (request, reply) => {
      try {
        const context = contextOf(request);
        requireWriter(context.actor);
        const { account_id, bucket_name } = request.params;
        const bucket = requireBucket(context, account_id, bucket_name, jurisdictionOf(request));
        return success(uploadedView(await upload(objects, bucket.seq, request)));
      } catch (error) {
        discardRest(request, reply);
        throw error;
      }
    },
  );

  app.delete(
    ONE,
    {
      config: { area: 'objects' },
      schema: {
        tags,
        summary: 'Delete an object',
        params: objectParams,
        headers: bucketHeaders,
        response: answersOne(onlyKey),
      },
    },
    async (request) => {
      const context = contextOf(request);
      requireWriter(context.actor);
      const { account_id, bucket_name } = request.params;
      const bucket = requireBucket(context, account_id, bucket_name, jurisdictionOf(request));
      const key = requireKey(request);
      await objects.delete(bucket.seq, [key]);
      return success({ key });
    },
  );
};

function requireKey(request: FastifyRequest): string {
  const key = objectKeyOf(request);
  if (key === '' || !isObjectKey(key)) throw objectFailure('badKey');
  return key;
}

async function upload(objects: ObjectStore, bucket: number, request: FastifyRequest): Promise<ObjectItem> {
  const { headers } = request;
  const declared = headers['content-length'];
  const size = declared === undefined ? undefined : Number(declared);
  if (size !== undefined && size > UPLOAD_LIMIT_BYTES) throw objectFailure('tooLarge', { limit: UPLOAD_LIMIT_BYTES });
  return objects.put(bucket, requireKey(request), bodyOf(request), {
    httpMetadata: readMetadata(headers),
    storageClass: storageClassOf(request),
    limit: UPLOAD_LIMIT_BYTES,
    size,
    md5: checksumOf(request),
    mayReplace: (existing) => judgeWrite(headers, existing),
  });
}

/** Left early, it leaves the connection open, so that the refusal can still be sent. */
function bodyOf(request: FastifyRequest): AsyncIterable<Uint8Array> {
  const body = request.body as IncomingMessage | undefined;
  return body ? body.iterator({ destroyOnReturn: false }) : noOctets();
}

async function* noOctets(): AsyncGenerator<Uint8Array> {}

/** `Content-MD5` (RFC 1864): 16 octets in base64. */
function checksumOf(request: FastifyRequest): Uint8Array | undefined {
  const text = headerText(request, 'content-md5');
  if (text === undefined) return undefined;
  const digest = Buffer.from(text, 'base64');
  if (digest.length !== 16) throw objectFailure('badChecksum');
  return digest;
}

function discardRest({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (raw.readableEnded || raw.destroyed) return;
  if (Number(headers['content-length'] ?? 0) > MOST_DISCARDED || headers['transfer-encoding'] !== undefined) {
    reply.header('connection', 'close');
  }
  raw.resume();
}

function answerHead(item: ObjectItem | undefined, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!item) throw objectFailure('missing');
  if (isAnswered(item, request, reply)) return reply.send();
  return reply.headers(objectHeaders(item)).header('content-length', item.size).send();
}

async function answerBody(
  found: OpenObject | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (!found) throw objectFailure('missing');
  const { item } = found;
  try {
    if (isAnswered(item, request, reply)) {
      await found.close();
      return reply.send();
    }
    const range = chooseRange(headerText(request, 'range'), headerText(request, 'if-range'), item);
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${item.size}`);
      throw objectFailure('range');
    }
    reply.headers(objectHeaders(item));
    if (range === undefined) return reply.header('content-length', item.size).send(found.read());
    const { first, last } = range;
    reply.code(206).header('content-range', `bytes ${first}-${last}/${item.size}`);
    return reply.header('content-length', last - first + 1).send(found.read(first, last));
  } catch (error) {
    await found.close();
    throw error;
  }
}

/** Whether the preconditions let nothing but a 304 be answered, which is set up then. Throws 412 when they fail. */
function isAnswered(item: ObjectItem, { headers }: FastifyRequest, reply: FastifyReply): boolean {
  const verdict = judgeRead(headers, item);
  if (verdict === 'failed') throw objectFailure('precondition');
  if (verdict === 'proceed') return false;
  const all = objectHeaders(item);
  for (const name of KEPT_WHEN_NOT_MODIFIED) if (all[name] !== undefined) reply.header(name, all[name]);
  reply.code(304);
  return true;
}
