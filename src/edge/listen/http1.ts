/** HTTP/1.1 from clients, over connections that others have accepted: plain ones, and those with TLS. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { takeTurns } from '../../base/connections/in-turns.js';
import { gatherPieces } from '../../base/connections/small-pieces.js';
import { keepOpen } from '../../plain/half-closed.js';

export interface Http1Handlers {
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  readonly onUpgrade: (message: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Called when a connection was closed because of what the client sent. */
  readonly onBadInput: (status: number) => void;
}

export interface HttpLimits {
  /** Milliseconds. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
}

export const HTTP_LIMITS: HttpLimits = { headersTimeoutMs: 60_000, requestTimeoutMs: 300_000, keepAliveMs: 65_000 };

const MOST_HEADER_OCTETS = 16_384;
const CHECK_MS = 2000;

/** How often the times of connections are checked, milliseconds. */
export function checkMsOf({ headersTimeoutMs }: HttpLimits): number {
  return Math.min(CHECK_MS, headersTimeoutMs);
}

/** It does not listen: it receives connections as `connection` events. */
export function createHttp1Server(handlers: Http1Handlers, clock: Clock, limits: HttpLimits = HTTP_LIMITS): Server {
  const { note, isBusy, owesAnswer } = noteAnswers();
  const options: ServerOptions = {
    maxHeaderSize: MOST_HEADER_OCTETS,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: checkMsOf(limits),
    // request.ts checks the Host field.
    requireHostHeader: false,
    insecureHTTPParser: false,
    // After requests without an answer it is treated as any other request, as RFC 9110 §7.8 allows: their answers come first.
    shouldUpgradeCallback: (message) => isWebSocket(message) && !isBusy(message.socket),
  };
  const server = createServer(options);
  // As where requests are plain. It has no type.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket: Socket) => {
    socket.prependListener('end', () => {
      if (isBusy(socket)) keepOpen(socket, clock);
    });
  });
  // Node silently drops fields above its limit, which would change the request. request.ts counts them instead.
  server.maxHeadersCount = 0;
  const inTurns = takeTurns();
  // A client that waits for 100 (Continue) is told what the origin says (RFC 9110 §10.1.1).
  for (const event of ['request', 'checkContinue'] as const) {
    server.on(event, (message, response) => {
      // The parser loses what follows such a request, so that nothing may.
      if (message.headers.upgrade !== undefined) response.shouldKeepAlive = false;
      note(message.socket, response);
      gatherPieces(message, response);
      inTurns(message.socket, () => handlers.onRequest(message, response));
    });
  }
  server.on('checkExpectation', (_message, response) => {
    response.writeHead(417, { 'content-length': 0, connection: 'close' });
    response.end();
  });
  server.on('upgrade', (message, socket, head) => {
    // Older Nodes do not ask before.
    if (isBusy(message.socket)) message.socket.destroySoon();
    else if (isWebSocket(message)) handlers.onUpgrade(message, socket, head);
    else ignoreUpgrade(handlers, message, socket);
  });
  server.on('connect', ({ socket }) => {
    if (isBusy(socket)) socket.destroySoon();
    else answerAndEnd(socket, 405, handlers);
  });
  server.on('clientError', (error: ParserError, socket: Socket) => {
    // Anything written now would be read as part of the response that has begun, or as the answer to an earlier request.
    if (owesAnswer(socket)) socket.destroySoon();
    else answerAndEnd(socket, statusOf(error), handlers);
  });
  // Starts the timers that disconnect slow clients.
  server.emit('listening');
  return server;
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What a connection that the parser gave up is told. */
function statusOf({ code = '', rawPacket, bytesParsed = 0 }: ParserError): number {
  const isWellFormed = WELL_FORMED[code];
  if (!isWellFormed) return STATUS_BY_CODE[code] ?? 400;
  const text = rawPacket?.toString('latin1') ?? '';
  // An error at the first octet of a request is found there, or in the middle of its method.
  const end = text.lastIndexOf('\r\n\r\n', bytesParsed);
  return isWellFormed.pattern.test(end < 0 ? text : text.slice(end + 4)) ? isWellFormed.status : 400;
}

interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Requests with a method or a version that the parser does not know, and else well-formed (RFC 9110 §9.1, §15.6.6). */
const WELL_FORMED: Readonly<Record<string, { readonly pattern: RegExp; readonly status: number }>> = {
  HPE_INVALID_METHOD: { pattern: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r\n/, status: 501 },
  HPE_INVALID_VERSION: { pattern: /^[A-Z-]+ \S+ HTTP\/\d\.\d\r\n/, status: 505 },
};

/** Connections with requests that are not fully answered; those whose requests are complete, or whose answers have begun. */
function noteAnswers() {
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const isBusy = (socket: Socket): boolean => (open.get(socket)?.size ?? 0) > 0;
  const owesAnswer = (socket: Socket): boolean =>
    [...(open.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete);
  const note = (socket: Socket, response: ServerResponse): void => {
    const responses = open.get(socket) ?? new Set();
    open.set(socket, responses.add(response));
    response.once('close', () => responses.delete(response));
  };
  return { note, isBusy, owesAnswer };
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Upgrades to other protocols may be ignored (RFC 9110 §7.8). Older Nodes detach the connection, which then ends. */
function ignoreUpgrade({ onRequest }: Http1Handlers, message: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(message);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as never);
  response.on('finish', () => socket.end());
  onRequest(message, response);
}

/** Ends a connection because of what the client sent, or did not send in time. */
export function answerAndEnd(socket: Duplex, status: number, { onBadInput }: Pick<Http1Handlers, 'onBadInput'>): void {
  onBadInput(status);
  if (!socket.writable || socket.destroyed) {
    socket.destroy();
    return;
  }
  // One that waits for its client's end would stay as long as the client likes.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}
