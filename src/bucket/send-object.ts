/** GET of the bucket application: an object, a part of it, or word that the client's copy is still good. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Random } from '../base/random.js';
import { judgeRead } from '../http/conditions.js';
import { chooseRanges } from '../http/range.js';
import { objectFailure } from './errors.js';
import { objectHeaders } from './metadata.js';
import { makeMultipart } from './multipart.js';
import type { OpenObject } from './object-store.js';

/** What a 304 repeats of the object (RFC 9110 §15.4.5). */
const KEPT_WHEN_NOT_MODIFIED = ['etag', 'last-modified', 'cache-control', 'expires'];

/** Closes the object, sooner or later. Throws 404, 412 and 416 as object failures. */
export async function sendObject(
  found: OpenObject | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  random: Random,
): Promise<FastifyReply> {
  if (!found) throw objectFailure('missing');
  let handedOver = false;
  try {
    const { item } = found;
    const verdict = judgeRead(request.headers, item);
    if (verdict === 'failed') throw objectFailure('precondition');
    const headers = objectHeaders(item);
    if (verdict === 'not-modified') {
      for (const name of KEPT_WHEN_NOT_MODIFIED) if (headers[name] !== undefined) reply.header(name, headers[name]);
      return reply.code(304).send();
    }
    const ranges = chooseRanges(request.headers.range, request.headers['if-range'] as string | undefined, item);
    if (ranges === 'unsatisfiable') {
      reply.header('content-range', `bytes */${item.size}`);
      throw objectFailure('range');
    }
    reply.headers(headers);
    handedOver = true;
    if (ranges === undefined) return reply.header('content-length', item.size).send(found.read());
    reply.code(206);
    if (ranges.length > 1) {
      const boundary = Buffer.from(random.bytes(16)).toString('hex');
      const { contentType, length, body } = makeMultipart(found, ranges, headers['content-type']!, boundary);
      return reply.headers({ 'content-type': contentType, 'content-length': length }).send(body);
    }
    const { first, last } = ranges[0]!;
    reply.header('content-range', `bytes ${first}-${last}/${item.size}`);
    return reply.header('content-length', last - first + 1).send(found.read(first, last));
  } finally {
    if (!handedOver) await found.close();
  }
}
