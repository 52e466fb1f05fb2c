/** GET and HEAD of an object, for the bucket application and the API: the object, parts of it, or a 304. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import type { Range } from '../http/range.js';
import { notModifiedHeaders, selectParts } from '../http/selection.js';
import { objectFailure } from './errors.js';
import { objectHeaders } from './metadata.js';
import { makeMultipart } from './multipart.js';
import type { ObjectItem, OpenObject } from './object-store.js';

/** Answers a HEAD request. Throws 404 and 412 as object failures. */
export function sendObjectHead(
  item: ObjectItem | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (!item) throw objectFailure('missing');
  select(item, request, reply);
  if (reply.statusCode !== 304) reply.header('content-length', item.size);
  return reply.send();
}

/**
 * Answers a GET request. The object is closed when the response is closed, however it ends. Throws 404, 412, 416 and 503 as
 * object failures.
 */
export async function sendObject(
  open: (client: string) => Promise<OpenObject | undefined>,
  request: FastifyRequest,
  reply: FastifyReply,
  random: Random,
): Promise<FastifyReply> {
  const { socket } = request.raw;
  const found = await open(socket.remoteAddress ?? '');
  if (!found) throw objectFailure('missing');
  try {
    const ranges = select(found.item, request, reply);
    // A client that has gone away already will not close its response again.
    if (reply.statusCode === 304 || reply.raw.destroyed || socket.destroyed) {
      await found.close();
      return reply.send();
    }
    reply.raw.once('close', () => void found.close());
    return sendParts(found, ranges, reply, random);
  } catch (error) {
    await found.close();
    throw error;
  }
}

/** Sets status and header fields, and returns the parts to send; none for the whole object. Throws 412 and 416. */
function select(item: ObjectItem, { method, headers }: FastifyRequest, reply: FastifyReply): readonly Range[] {
  const { status, ranges } = selectParts(method, headers, item);
  if (status === 412) throw objectFailure('precondition');
  if (status === 416) {
    reply.header('content-range', `bytes */${item.size}`);
    throw objectFailure('range');
  }
  const all = objectHeaders(item);
  reply.code(status).headers(status === 304 ? notModifiedHeaders(all) : all);
  return ranges;
}

function sendParts(found: OpenObject, ranges: readonly Range[], reply: FastifyReply, random: Random): FastifyReply {
  const { size } = found.item;
  const [only, ...others] = ranges;
  if (only === undefined) return reply.header('content-length', size).send(found.read());
  if (others.length > 0) {
    const boundary = Buffer.from(random.bytes(16)).toString('hex');
    const { contentType, length, body } = makeMultipart(
      found,
      ranges,
      String(reply.getHeader('content-type')),
      boundary,
    );
    return reply.headers({ 'content-type': contentType, 'content-length': length }).send(body);
  }
  const { first, last } = only;
  reply.headers({ 'content-range': `bytes ${first}-${last}/${size}`, 'content-length': last - first + 1 });
  return reply.send(found.read(first, last));
}

const LOOK_MS = 500;

/** Ends an answer that is on its way when the caller may not read it any more: then `requireStill` throws. */
export function watchAnswer(clock: Clock, response: ServerResponse, requireStill: (() => void) | undefined): void {
  if (!requireStill || response.destroyed) return;
  const cancel = clock.every(LOOK_MS, () => {
    try {
      requireStill();
    } catch {
      response.destroy();
    }
  });
  response.once('close', cancel);
}
