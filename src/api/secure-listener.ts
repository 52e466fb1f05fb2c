/** An HTTP API over TLS, in addition to its plain listener, for clients that require https (v4: §1.1). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import type { ListenOptions } from '../base/connections/backlog.js';
import { startHandshakesInTurns } from '../base/connections/handshake-turns.js';
import { beginInTurns } from '../base/connections/in-turns.js';
import { shareConnections } from '../base/connections/shared.js';
import { cutStalledConnections, keepWhileAnswering } from '../base/connections/stalled.js';
import { endUnreadBodies } from '../base/connections/unread-bodies.js';
import type { AnswerFirst } from '../plain/in-front.js';
import { answerClientError, MOST_CONNECTIONS, TIMEOUTS } from './connection.js';

/** PEM: the chain, beginning with the end-entity certificate, and its key. */
export interface Credentials {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

export interface SecureListener {
  readonly server: Server;
  listen(options: ListenOptions): Promise<void>;
  /** Used for new connections. Throws for invalid credentials. */
  renew(credentials: Credentials): void;
  /** Resolves when the running requests are answered. */
  close(): Promise<void>;
}

/** What answers requests; it must be ready. */
export interface Answerer {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers plain requests before that. */
  readonly answerFirst: AnswerFirst;
  /** Whether it says itself that a body may come (RFC 9110 §10.1.1). */
  readonly saysContinue?: boolean;
  /** Undefined: the rules of the admin API. */
  readonly connection?: ConnectionRules;
}

/** Rules for connections, which apply before a request is read. */
export interface ConnectionRules {
  /** Milliseconds, and octets of a request head. */
  readonly limits: {
    readonly connectionTimeout: number;
    readonly requestTimeout: number;
    readonly keepAliveTimeout: number;
    readonly headersTimeout: number;
    readonly maxHeaderSize: number;
  };
  /** Answers malformed HTTP. */
  readonly onClientError: (error: Error & { readonly code: string }, socket: Socket) => void;
}

const { http, ...times } = TIMEOUTS;
const ADMIN: ConnectionRules = {
  limits: { ...times, ...http },
  onClientError: answerClientError as ConnectionRules['onClientError'],
};

/** Throws for invalid credentials. */
export function createSecureListener(
  { answer, answerFirst, saysContinue = false, connection = ADMIN }: Answerer,
  { certificate, key }: Credentials,
  clock: Clock,
): SecureListener {
  const { connectionTimeout, ...limits } = connection.limits;
  const options = { cert: certificate, key, minVersion: 'TLSv1.2' as const, ...limits };
  const server = createServer(options, answer);
  startHandshakesInTurns(server, clock);
  beginInTurns(server);
  endUnreadBodies(server, clock);
  if (saysContinue) server.on('checkContinue', (request, response) => server.emit('request', request, response));
  const closeIdle = answerFirst(server);
  server.timeout = connectionTimeout;
  shareConnections(server, MOST_CONNECTIONS);
  server.on('clientError', connection.onClientError as (error: Error, socket: Socket) => void);
  keepWhileAnswering(server);
  const cutStalled = cutStalledConnections(server, clock);
  return {
    server,
    listen: (place) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(place, () => {
          server.removeListener('error', reject);
          resolve();
        });
      }),
    renew: (credentials) =>
      server.setSecureContext({ ...options, cert: credentials.certificate, key: credentials.key }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        closeIdle();
        cutStalled();
      }),
  };
}
