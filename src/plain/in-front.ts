/**
 * Plain requests in front of one of Node's HTTP servers: what can be answered at once is, in a third of the time; every other
 * request moves its connection to that server for good.
 */
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../base/clock.js';
import { createPlainConnections } from './connections.js';
import type { PlainHead } from './request-head.js';
import { WholeResponse } from './whole-response.js';

/** Answers a request of a connection at once. False: it cannot, and nothing was sent. */
export type AnswerAtOnce = (head: PlainHead, response: WholeResponse, socket: Socket) => boolean;

/** Lets plain requests of a server be answered first; the returned function closes idle connections. */
export type AnswerFirst = (server: Server | SecureServer) => () => void;

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
    onFault,
  }: { readonly clock: Clock; readonly answer: AnswerAtOnce; readonly onFault: (error: unknown) => void },
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
    handOver,
    // It answers 408.
    onLate: handOver,
  });
  server.on(event, (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    connections.accept(socket, (head, channel) => {
      const response = new WholeResponse(channel, head.method, head.isLast, onFault);
      try {
        return answer(head, response, socket) ? response : undefined;
      } catch (error) {
        // The other way finds the same, says so, and has an answer for it.
        if (!response.isBegun) return undefined;
        onFault(error);
        socket.destroy();
        return response;
      }
    });
  });
  server.once('close', () => connections.close());
  return connections.closeIdle;
}
