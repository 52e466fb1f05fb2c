/** Which requests are read apart from the main thread, and how they are answered. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify';
import { nextSlice } from '../../base/slices.js';
import { PageTooLong } from '../../control/kernel/context.js';
import type { Store } from '../../store/driver.js';
import { callerOf, turnOfRequest, whenGone } from '../request.js';
import type { ReadAnswer, ReadOrder } from './order.js';
import type { Readers } from './readers.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the handler may end with {@link PageTooLong}, so that a thread answers. */
    mayMove: boolean;
  }
  interface FastifyContextConfig {
    /**
     * Whether a request may read so much, or compare so much, that others would wait: it is answered by a thread that reads. A
     * function decides by what the request asks for, or else the handler, which ends with {@link PageTooLong}.
     */
    readsLong?: true | 'if too long' | ((request: FastifyRequest, store: Store) => boolean);
  }
}

/** Octets that are sent in one turn. */
const PIECE = 256 * 1024;
/** What belongs to the connection, or to a body that nobody reads. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'host',
  'authorization',
  'cookie',
]);

/** For each route. */
export function readApart(route: RouteOptions, readers: Readers, store: Store): void {
  const readsLong = route.config?.readsLong;
  if (!readsLong) return;
  const handler = route.handler as (request: FastifyRequest, reply: FastifyReply) => unknown;
  const answerApart = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (readsLong === 'if too long' || (readsLong !== true && !readsLong(request, store))) {
      try {
        request.mayMove = true;
        return await handler(request, reply);
      } catch (error) {
        if (!(error instanceof PageTooLong)) throw error;
      }
    }
    const { raw } = reply;
    const signal = whenGone(reply);
    // What is made is in memory until the client has taken it.
    const holder = {
      giveBack: () => void raw.destroy(),
      isUnread: () => raw.headersSent && raw.writableLength > 0,
    };
    const account = turnOfRequest(store, request);
    const leave = await readers.begin(account, { signal, holder });
    raw.once('finish', leave).once('close', leave);
    return send(reply, await readers.read(account, orderOf(request), signal));
  };
  route.handler = answerApart as RouteHandlerMethod;
}

function orderOf(request: FastifyRequest): ReadOrder {
  const headers = Object.entries(request.headers).filter(([name]) => !NOT_PASSED.has(name));
  return {
    url: request.url,
    caller: callerOf(request),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
  };
}

function send(reply: FastifyReply, { status, headers, body }: ReadAnswer): unknown {
  reply.code(status).headers(headers);
  const octets = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (octets.length <= PIECE) return octets;
  reply.header('content-length', octets.length);
  return Readable.from(piecesOf(octets), { objectMode: false });
}

/** A client that reads as fast as this is written would take all of it in one turn. */
async function* piecesOf(octets: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < octets.length; at += PIECE) {
    yield octets.subarray(at, at + PIECE);
    await nextSlice();
  }
}
