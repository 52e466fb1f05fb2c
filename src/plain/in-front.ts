/**
 * Plain requests in front of one of Node's HTTP servers: what can be answered at once is, in a third of the time; every other
 * request moves its connection to that server for good.
 */
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../base/clock.js';
import { FURTHER_REQUESTS } from '../base/connections/in-turns.js';
import { type Channel, createPlainConnections } from './connections.js';
import type { PlainHead, PlainUpload } from './request-head.js';
import { WholeResponse } from './whole-response.js';

/** Answers a request of a connection at once. False: it cannot, and nothing was sent. */
export type AnswerAtOnce = (head: PlainHead, response: WholeResponse, socket: Socket) => boolean;

/**
 * Stores what a PUT of a connection brings, and answers it before it resolves. Undefined: it cannot, and nothing was done. The body of the
 * request is valid only until it returns.
 */
export type StoreAtOnce = (upload: PlainUpload, response: WholeResponse, socket: Socket) => Promise<void> | undefined;

/** Lets plain requests of a server be answered first; the returned function closes idle connections. */
export type AnswerFirst = (server: Server | SecureServer) => () => void;

/** How Node's parser calls that. */
const BROKEN_OFF = 'HPE_INVALID_EOF_STATE';
const CHECK_MS = 2000;
/** Milliseconds within which the client must have taken an answer. */
const LONGEST_MS = 60_000;

/**
 * To be called before the server listens, and before anybody else waits for its connections. The returned function closes idle
 * connections.
 */
export function answerPlainFirst(
  server: Server | SecureServer,
  {
    clock,
    answer,
    store,
    onFault,
  }: {
    readonly clock: Clock;
    readonly answer: AnswerAtOnce;
    readonly store?: StoreAtOnce;
    readonly onFault: (error: unknown) => void;
  },
): () => void {
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
  // Node's own listener is the first one.
  const nodes = server.listeners(event)[0] as (socket: Socket) => void;
  server.off(event, nodes);
  const handOver = (socket: Socket): void => nodes.call(server, socket);
  const connections = createPlainConnections({
    clock,
    firstMs: server.headersTimeout,
    idleMs: server.keepAliveTimeout,
    keepAliveMs: server.keepAliveTimeout,
    longestMs: LONGEST_MS,
    checkMs: CHECK_MS,
    further: FURTHER_REQUESTS,
    handOver,
    // It answers 408.
    onLate: handOver,
    // As it does for a body that breaks off.
    onBrokenOff: (socket) =>
      server.emit('clientError', Object.assign(new Error(BROKEN_OFF), { code: BROKEN_OFF }), socket),
  });
  server.on(event, (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    const fail = (error: unknown): void => {
      onFault(error);
      socket.destroy();
    };
    const begin = (request: PlainHead | PlainUpload, channel: Channel): WholeResponse | undefined => {
      const response = new WholeResponse(channel, request.method, request.isLast, onFault);
      try {
        if (request.method !== 'PUT') return answer(request, response, socket) ? response : undefined;
        const stored = store?.(request, response, socket);
        stored?.catch(fail);
        return stored && response;
      } catch (error) {
        // The other way finds the same, says so, and has an answer for it.
        if (!response.isBegun) return undefined;
        fail(error);
        return response;
      }
    };
    connections.accept(socket, begin, store && begin);
  });
  server.once('close', () => connections.close());
  return connections.closeIdle;
}
