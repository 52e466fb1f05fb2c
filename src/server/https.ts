/** DNS over HTTPS (RFC 8484): a message in the body of a POST or the query of a GET, over HTTP/2 and, for old clients, HTTP/1.1. */
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { type Answer, createClient, Transport } from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import { parseIP } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { Count, type CountBlock } from './counters.js';
import { freshnessOf } from './freshness.js';
import { sampleReports } from './guard.js';
import { listen } from './tcp.js';
import { contextOf, type TlsCredentials, type TlsListener, usable } from './tls.js';

export interface HttpsListenOptions {
  /** A literal address; `::` takes IPv6 only. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly answer: Answer;
  readonly counts: CountBlock;
  readonly credentials: TlsCredentials;
  readonly log: Logger;
  readonly clock: Clock;
}

/** What resolvers are told to use: `https://name/dns-query{?dns}`. */
const PATH = '/dns-query';
const MEDIA_TYPE = 'application/dns-message';
const SHORTEST_MESSAGE = 12;
const LONGEST_MESSAGE = 65_535;
/** Base 64 of the longest message, and room for the rest of the path. */
const LONGEST_URL = Math.ceil(LONGEST_MESSAGE / 3) * 4 + 256;

const CONNECTIONS = 1000;
const CONNECTIONS_PER_CLIENT = 100;
const STREAMS = 100;
const HANDSHAKE_MS = 5_000;
/** Silent connections are closed after this time; a request must be whole in the other. */
const IDLE_MS = 30_000;
const REQUEST_MS = 10_000;

/** Rejects with a ListenError, or with a UserError if certificate and key cannot be used. */
export async function startHttps(options: HttpsListenOptions): Promise<TlsListener> {
  const { counts, log } = options;
  const admit = sampleReports();
  const server = usable('DNS over HTTPS', () =>
    createSecureServer({
      ...contextOf(options.credentials),
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      handshakeTimeout: HANDSHAKE_MS,
      settings: { maxConcurrentStreams: STREAMS, enablePush: false },
      maxHeaderListPairs: 64,
      ...{ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: LONGEST_URL + 8192 },
    }),
  );
  server.setTimeout(IDLE_MS);
  server.maxConnections = CONNECTIONS;
  const sockets = trackSockets((listener) => server.on('connection', listener), counts);
  const serve = createHandler(options);
  server.on('request', (request, response) => serve(request, response));
  for (const event of ['tlsClientError', 'sessionError', 'clientError'] as const) {
    server.on(event, (error: Error) => {
      counts[Count.connectionFailed]! += 1;
      const seen = admit();
      if (seen !== undefined) log.debug({ error: error.message, seen }, 'a connection of DNS over HTTPS failed');
    });
  }
  const listener = await listen(server, options, 'HTTPS');
  return {
    ...listener,
    renew: (credentials) => usable('DNS over HTTPS', () => server.setSecureContext(contextOf(credentials))),
    close: () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The open connections; a client that has too many gets no more. */
function trackSockets(onConnection: (listener: (socket: Socket) => void) => void, counts: CountBlock): Set<Socket> {
  const sockets = new Set<Socket>();
  const perClient = new Map<string, number>();
  onConnection((socket) => {
    const address = socket.remoteAddress ?? '';
    const open = perClient.get(address) ?? 0;
    if (open >= CONNECTIONS_PER_CLIENT) {
      counts[Count.connectionEvicted]! += 1;
      socket.destroy();
      return;
    }
    counts[Count.connectionAccepted]! += 1;
    perClient.set(address, open + 1);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      const left = (perClient.get(address) ?? 1) - 1;
      if (left > 0) perClient.set(address, left);
      else perClient.delete(address);
    });
  });
  return sockets;
}

type Respond = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

function createHandler({ answer, clock }: HttpsListenOptions): Respond {
  const out = new Uint8Array(LONGEST_MESSAGE);
  const client = createClient();
  const reply = (request: Http2ServerRequest, response: Http2ServerResponse, message: Uint8Array): void => {
    client.source = parseIP(request.socket.remoteAddress ?? '') ?? new Uint8Array(0);
    client.length = client.source.length;
    client.seconds = Math.floor(clock.nowMs() / 1000);
    const tooShort = message.length < SHORTEST_MESSAGE;
    const length = tooShort ? 0 : answer(message, 0, message.length, out, 0, out.length, Transport.https, client);
    if (length === 0) {
      refuse(response, 400, 'That is no DNS query.');
      return;
    }
    const body = Buffer.from(out.subarray(0, length));
    response.writeHead(200, {
      'content-type': MEDIA_TYPE,
      'content-length': length,
      'cache-control': `max-age=${freshnessOf(body)}`,
    });
    if (request.method === 'HEAD') response.end();
    else response.end(body);
  };
  return (request, response) => {
    const [path, query = ''] = request.url.split('?', 2);
    if (path !== PATH) {
      refuse(response, 404, `DNS queries go to ${PATH}.`);
    } else if (request.method === 'POST') {
      takeBody(request, response, (message) => reply(request, response, message));
    } else if (request.method === 'GET' || request.method === 'HEAD') {
      const message = decodeQuery(query);
      if (message) reply(request, response, message);
      else refuse(response, 400, 'Expected ?dns= with a DNS message in base64url (RFC 4648 §5).');
    } else {
      response.setHeader('allow', 'GET, HEAD, POST');
      refuse(response, 405, 'DNS queries come by GET or POST.');
    }
  };
}

/** The message in `dns=` (RFC 8484 §4.1.1); undefined when there is none. Padding is not allowed, and passed over. */
function decodeQuery(query: string): Buffer | undefined {
  const text = new URLSearchParams(query).get('dns')?.replace(/=+$/, '');
  if (!text || !/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  const message = Buffer.from(text, 'base64url');
  return message.length > LONGEST_MESSAGE ? undefined : message;
}

function takeBody(request: Http2ServerRequest, response: Http2ServerResponse, done: (message: Buffer) => void): void {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type !== MEDIA_TYPE) {
    refuse(response, 415, `Expected a body of type ${MEDIA_TYPE}.`);
    return;
  }
  const pieces: Buffer[] = [];
  let octets = 0;
  request.on('data', (piece: Buffer) => {
    octets += piece.length;
    if (octets <= LONGEST_MESSAGE) pieces.push(piece);
    else if (!response.headersSent) refuse(response, 413, 'A DNS message has 65535 octets at most.');
  });
  request.on('end', () => {
    if (!response.headersSent) done(Buffer.concat(pieces));
  });
  request.on('error', () => response.stream?.close());
}

function refuse(response: Http2ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}
