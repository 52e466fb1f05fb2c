/**
 * DNS over HTTPS (RFC 8484): a message in the body of a POST or the query of a GET, over HTTP/2 and, for old clients, HTTP/1.1.
 */
import { constants, createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import {
  type Answer,
  type AnswerDeferred,
  createClient,
  DEFERRED,
  setAddresses,
  Transport,
} from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import { clientNetwork, parsePeerAddress } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { sampleReports } from '../base/sample-reports.js';
import { Count, type CountBlock } from './counters.js';
import { whenAnswered } from './deferred.js';
import { freshnessOf } from './freshness.js';
import { watchHandshakes } from './handshakes.js';
import type { Exchange, HttpsConnections } from './https-connections.js';
import { listen, type PortSharing } from './tcp.js';
import { contextOf, type TlsCredentials, type TlsListener, usable } from './tls.js';
import { type AnswerTurns, FRAMES_OF_REQUEST } from './turns/answer-turns.js';

export interface HttpsListenOptions {
  /** A literal address; `::` accepts IPv6 only. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: never. */
  readonly sharing?: PortSharing | undefined;
  readonly answer: Answer;
  /** Answers what the engine defers. */
  readonly answerDeferred?: AnswerDeferred | undefined;
  /** Of the thread that answers. */
  readonly turns: Pick<AnswerTurns, 'take'>;
  readonly counts: CountBlock;
  readonly connections: HttpsConnections;
  /** Without credentials, handshakes fail until {@link TlsListener.renew} is called. */
  readonly credentials?: TlsCredentials | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The template for resolvers: `https://name/dns-query{?dns}`. */
const PATH = '/dns-query';
const MEDIA_TYPE = 'application/dns-message';
const SHORTEST_MESSAGE = 12;
const LONGEST_MESSAGE = 65_535;
/** Base 64 of the longest message, and room for the rest of the path. */
const LONGEST_URL = Math.ceil(LONGEST_MESSAGE / 3) * 4 + 256;

/** Requests at once on a connection. */
const STREAMS = 100;
/** Memory that HTTP/2 itself may take for a connection, in MB as node:http2 counts them. */
const SESSION_MEMORY = 2;

/** Rejects with a ListenError, or with a UserError if the certificate and key cannot be used. */
export async function startHttps(options: HttpsListenOptions): Promise<TlsListener> {
  const { counts, connections, log, clock } = options;
  const admit = sampleReports();
  const server = usable('DNS over HTTPS', () =>
    createSecureServer({
      ...contextOf(options.credentials),
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      settings: { maxConcurrentStreams: STREAMS, enablePush: false },
      maxHeaderListPairs: 64,
      maxSessionMemory: SESSION_MEMORY,
      ...{ maxHeaderSize: LONGEST_URL + 8192 },
    }),
  );
  const endHandshakes = watchHandshakes(server, counts, clock);
  // Before the server begins a session on it.
  server.prependListener('secureConnection', (socket) => connections.accept(socket));
  server.on('session', (session) => connections.acceptSession(session));
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
      endHandshakes();
    },
  };
}

type Respond = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

function createHandler({ answer, answerDeferred, turns, connections, clock }: HttpsListenOptions): Respond {
  const out = new Uint8Array(LONGEST_MESSAGE);
  const client = createClient();
  const reply = (
    exchange: Exchange,
    request: Http2ServerRequest,
    response: Http2ServerResponse,
    message: Uint8Array,
  ) => {
    const { remoteAddress = '', remotePort = 0, localAddress = '' } = request.socket;
    setAddresses(client, parsePeerAddress(remoteAddress), remotePort, parsePeerAddress(localAddress));
    client.seconds = Math.floor(clock.nowMs() / 1000);
    const tooShort = message.length < SHORTEST_MESSAGE;
    const length = tooShort ? 0 : answer(message, 0, message.length, out, 0, out.length, Transport.https, client);
    if (length === DEFERRED) {
      const later = answerDeferred?.(new Uint8Array(message), Transport.https, remoteAddress, remotePort);
      whenAnswered(later, (body) => {
        if (exchange.isOver()) return;
        if (body) send(exchange, request, response, Buffer.from(body));
        else refuse(response, 503, 'The server is stopping.');
      });
      return;
    }
    if (length === 0) refuse(response, 400, 'This is not a DNS query.');
    else send(exchange, request, response, Buffer.from(out.subarray(0, length)));
  };
  const replyInTurn = (exchange: Exchange, request: Http2ServerRequest, response: Http2ServerResponse) => {
    const client = clientNetwork(request.socket.remoteAddress ?? '');
    return (message: Uint8Array): void =>
      turns.take(
        { client },
        FRAMES_OF_REQUEST,
        () => reply(exchange, request, response, message),
        () => exchange.isOver(),
      );
  };
  return (request, response) => {
    const exchange = connections.begin(request, response);
    if (!exchange) {
      refuseAtOnce(response);
      return;
    }
    const [path, query = ''] = request.url.split('?', 2);
    if (path !== PATH) {
      refuse(response, 404, `DNS queries go to ${PATH}.`);
    } else if (request.method === 'POST') {
      takeBody(exchange, request, response, replyInTurn(exchange, request, response));
    } else if (request.method === 'GET' || request.method === 'HEAD') {
      const message = decodeQuery(query);
      if (message) replyInTurn(exchange, request, response)(message);
      else refuse(response, 400, 'Expected ?dns= with a DNS message in base64url (RFC 4648 §5).');
    } else {
      response.setHeader('allow', 'GET, HEAD, POST');
      refuse(response, 405, 'Send DNS queries by GET or POST.');
    }
  };
}

function send(exchange: Exchange, request: Http2ServerRequest, response: Http2ServerResponse, body: Buffer): void {
  if (!exchange.hold(body.length)) return;
  response.writeHead(200, {
    'content-type': MEDIA_TYPE,
    'content-length': body.length,
    'cache-control': `max-age=${freshnessOf(body)}`,
  });
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}

/**
 * The message in `dns=` (RFC 8484 §4.1.1); undefined when there is none. Padding is forbidden, but ignored; more of it than base64 has
 * would be looked at again from each of its characters.
 */
function decodeQuery(query: string): Buffer | undefined {
  const text = new URLSearchParams(query).get('dns')?.replace(/={1,2}$/, '');
  if (!text || !/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  const message = Buffer.from(text, 'base64url');
  return message.length > LONGEST_MESSAGE ? undefined : message;
}

function takeBody(
  exchange: Exchange,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  done: (message: Buffer) => void,
): void {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type !== MEDIA_TYPE) {
    refuse(response, 415, `Expected a body of type ${MEDIA_TYPE}.`);
    return;
  }
  const pieces: Uint8Array[] = [];
  let octets = 0;
  request.on('data', (piece: Buffer) => {
    octets += piece.length;
    // A copy: a small piece may be a view of a large buffer.
    if (octets <= LONGEST_MESSAGE && exchange.hold(piece.length)) pieces.push(new Uint8Array(piece));
    else if (octets > LONGEST_MESSAGE && !response.headersSent)
      refuse(response, 413, 'A DNS message has no more than 65535 octets.');
  });
  request.on('end', () => {
    if (!response.headersSent && !exchange.isOver()) done(Buffer.concat(pieces));
  });
  request.on('error', () => response.stream?.close());
}

/** A stream that is refused so may be sent again (RFC 9113 §8.7). */
function refuseAtOnce(response: Http2ServerResponse): void {
  if (response.stream) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  else refuse(response, 503, 'Too many requests of this client are not answered yet.');
}

function refuse(response: Http2ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}
