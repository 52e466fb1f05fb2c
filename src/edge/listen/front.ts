/** The clients' side: accepts connections, turns requests into the form that the edge works with, and sends responses. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.js';
import { FurtherRequests } from '../../base/connections/in-turns.js';
import { clientNetwork, plainAddress } from '../../base/ip.js';
import type { Random } from '../../base/random.js';
import { isCovered } from '../../dns/certified.js';
import {
  type AnswerPlain,
  type Channel,
  createPlainConnections,
  type PlainConnections,
  type Sending,
} from '../../plain/connections.js';
import type { PlainHead } from '../../plain/request-head.js';
import { failureOf } from '../error-pages/failures.js';
import { bounded } from '../exchange/bounded.js';
import type { ClientResponse } from '../exchange/client-response.js';
import { type EdgeRequest, firstValue } from '../exchange/exchange.js';
import type { OpenStreams } from '../exchange/open-streams.js';
import type { Stalls } from '../exchange/stalls.js';
import { PlainResponse } from '../http1/response.js';
import type { ClientStream } from '../http2/client-stream.js';
import type { Answer } from '../proxy/answer.js';
import type { HostTls, OnSecure } from '../tls/contexts.js';
import { type ClientSide, PlainSide, type RequestReport, RequestSide } from './client-side.js';
import type { Connections } from './connections.js';
import { answerAndEnd, checkMsOf, createHttp1Server, HTTP_LIMITS, type HttpLimits } from './http1.js';
import { createHttp2Listener } from './http2.js';
import { http1Response } from './node-response.js';
import { type LineFacts, PlainReader, type ReadRequest, type RequestFacts, readHttp1, readHttp2 } from './request.js';
import { createTlsAcceptor, type RefusedHandshake } from './tls-accept.js';
import type { WebSockets } from './web-socket.js';

/** Answers a usual request on a shorter way. Undefined: it needs the general one, and nothing was done. */
type AnswerQuickly = (request: EdgeRequest, isLast: boolean) => Sending | undefined;

/** What answers the requests of one connection, one after another. */
export type AnswersOfConnection = (client: ClientSide, channel: Channel) => AnswerQuickly;

/** The same for a request over HTTP/2. False: it has to be handled in the general way, and nothing was done. */
export type AnswerStream = (request: EdgeRequest, client: ClientSide, stream: ClientStream) => boolean;

export interface FrontOptions {
  readonly answer: Answer;
  /** For plain requests; undefined: there is no such way. */
  readonly answersOf?: AnswersOfConnection | undefined;
  /** Likewise, for requests over HTTP/2. */
  readonly answerStream?: AnswerStream | undefined;
  readonly webSockets: WebSockets;
  readonly connections: Connections;
  readonly stalls: Stalls;
  readonly openStreams: OpenStreams;
  /** The number of the account of a host; 0: of nobody. */
  readonly accountOf: (host: string) => number;
  /** The TLS context of a host; undefined if it has no certificate. */
  readonly findTls: (host: string) => HostTls | undefined;
  readonly bodyLimit: number;
  readonly details: boolean;
  readonly limits?: HttpLimits | undefined;
  readonly handshakeMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly onReport: (report: RequestReport) => void;
  readonly onHandshake: (version: string) => void;
  readonly onRefusedHandshake: (why: RefusedHandshake) => void;
  readonly onBadInput: (status: number) => void;
  /** Called when Node's server takes over a connection of HTTP/1.1 because of a request that is not plain. */
  readonly onHandedOver: () => void;
  /** A fault of this program ended an exchange. */
  readonly onFault: (error: unknown) => void;
}

export interface Front {
  readonly acceptHttp: (socket: Socket) => void;
  readonly acceptHttps: (socket: Socket) => void;
  /** Called after each handshake. */
  readonly onSecure: OnSecure;
  /** Closes idle connections; requests in progress are finished. */
  drain(): void;
  /** After the last connection. */
  close(): void;
}

/** Of all connections in a turn: with usual ones, some milliseconds. A turn also writes together what HTTP/2 has answered in it. */
const FURTHER_A_TURN = 512;

/** Facts about a connection. */
interface Line extends LineFacts {
  readonly tls: SecuredLine | undefined;
}

interface SecuredLine extends Pick<HostTls, 'certificate' | 'settings'> {
  /** The host that the client named (SNI), lower case. */
  readonly serverName: string;
  /** Such as `TLSv1.3`. */
  readonly version: string;
}

export function createFront(options: FrontOptions): Front {
  const { connections, clock } = options;
  const lines: Lines = new WeakMap();
  const { http1, http2, acceptHttp2, plain, answerPlain } = createProtocols(options, lines);
  const acceptTls = createTlsAcceptor({
    findTls: options.findTls,
    accountOf: options.accountOf,
    onRefused: options.onRefusedHandshake,
    clock,
    helloMs: options.handshakeMs,
  });
  return {
    acceptHttp(socket) {
      if (!connections.add(socket, false)) return;
      const line = lineOf(socket, undefined);
      lines.set(socket, line);
      plain.accept(socket, answerPlain(line));
    },
    acceptHttps(socket) {
      // Floods are of HTTP/2, which needs TLS.
      if (connections.add(socket, true)) acceptTls(socket);
    },
    onSecure(socket, tls) {
      const version = socket.getProtocol() ?? '';
      options.onHandshake(version);
      socket.on('error', () => socket.destroy());
      const serverName = (socket.servername || '').toLowerCase().replace(/\.$/, '');
      const line = lineOf(socket, { ...tls, serverName, version });
      if (socket.alpnProtocol === 'h2') {
        acceptHttp2(socket, line);
        return;
      }
      lines.set(socket, line);
      plain.accept(socket, answerPlain(line));
    },
    drain() {
      plain.closeIdle();
      http1.closeIdleConnections();
      http2.drain();
    },
    close() {
      plain.close();
      http2.close();
    },
  };
}

function lineOf(socket: Socket, tls: SecuredLine | undefined): Line {
  const client = plainAddress(socket.remoteAddress);
  return { scheme: tls ? 'https' : 'http', client, network: clientNetwork(client), tls };
}

/** By socket. */
type Lines = WeakMap<object, Line>;

/** Answers requests of both HTTP versions in the same way. */
function createProtocols(options: FrontOptions, lines: Lines) {
  const { webSockets, clock, onFault, openStreams } = options;
  const bodyDeadline = { clock, ms: (options.limits ?? HTTP_LIMITS).requestTimeoutMs };
  const { factsOf, sideOf, handle, answerPlain, answerStream } = createHandling(options);
  /** What goes wrong before there is a reply ends the stream, or the connection that has no others. */
  const guarded = (side: { destroy(): unknown }, work: () => void): void =>
    bounded((error) => {
      onFault(error);
      side.destroy();
    }, work);

  const http1 = createHttp1Server(
    {
      onRequest(message, response) {
        guarded(message.socket, () => {
          const line = lines.get(message.socket)!;
          const facts = factsOf(line);
          handle(readHttp1(message, facts), facts, line, message.httpVersion, http1Response(response));
        });
      },
      onUpgrade(message, socket, head) {
        guarded(socket, () => {
          const line = lines.get(message.socket)!;
          const facts = factsOf(line);
          const request = directed(readHttp1(message, facts), line, options.findTls);
          webSockets.overHttp1(request, socket, head, sideOf(request, facts, line, message.httpVersion).report);
        });
      },
      onBadInput: options.onBadInput,
    },
    clock,
    options.limits,
  );
  const further = new FurtherRequests(FURTHER_A_TURN);
  const http2 = createHttp2Listener({
    ...{ clock, stalls: options.stalls, open: openStreams, prefaceMs: options.handshakeMs, further, onFault },
  });
  const acceptHttp2 = (socket: TLSSocket, line: Line): void =>
    http2.accept(socket, {
      network: line.network,
      onFlood: (kind) => options.connections.noteFlood(line.client, kind),
      onRequest: (stream) => guarded({ destroy: () => stream.cut() }, () => handleStream(stream, line)),
    });
  const handleStream = (stream: ClientStream, line: Line): void => {
    const { request: asked, body, isTunnel } = stream;
    const facts = { ...factsOf(line), bodyDeadline };
    const read = readHttp2(asked, facts, isTunnel ? undefined : body);
    const accountOf = (): number => options.accountOf(read.host);
    if (openStreams.isFull(accountOf)) {
      openStreams.refuse();
      handle({ failure: TOO_MANY, host: read.host }, facts, line, '2.0', stream);
      return;
    }
    if (isTunnel) {
      const request = directed(read, line, options.findTls);
      webSockets.overHttp2(request, stream, sideOf(request, facts, line, '2.0').report);
    } else if (body || !answerStream(read, stream, facts, line)) handle(read, facts, line, '2.0', stream);
    if (!stream.isOver) stream.whenOver = openStreams.enter(accountOf());
  };
  const plain = createPlain(options, further, (socket) => {
    options.onHandedOver();
    http1.emit('connection', socket);
  });
  return { http1, http2, acceptHttp2, plain, answerPlain };
}

function createHandling(options: FrontOptions) {
  const { answer, bodyLimit, findTls } = options;
  const nextRay = rays(options.random);

  const factsOf = ({ scheme, client, network }: Line, ray = nextRay()): RequestFacts => {
    return { scheme, client, network, ray, bodyLimit };
  };

  const sideOf = (request: ReadRequest, facts: RequestFacts, line: Line, httpVersion: string): RequestSide =>
    new RequestSide(options, request, facts, line.tls?.version, httpVersion);

  function handle(read: ReadRequest, facts: RequestFacts, line: Line, version: string, response: ClientResponse): void {
    const request = directed(read, line, findTls);
    const reply = sideOf(request, facts, line, version).reply(response);
    try {
      if ('failure' in request) reply.onFailure(request.failure);
      else answer(request, reply);
    } catch (error) {
      reply.onFault(error);
    }
  }

  function answerStream(read: ReadRequest, stream: ClientStream, facts: RequestFacts, line: Line): boolean {
    if (!options.answerStream || 'failure' in read || read.method !== 'GET') return false;
    if (directed(read, line, findTls) !== read) return false;
    return options.answerStream(read, sideOf(read, facts, line, '2.0'), stream);
  }

  const answerPlain = (line: Line): AnswerPlain => {
    const plain = new PlainAnswers(options, line);
    return (head, channel) => {
      const ray = nextRay();
      const read = plain.read(head, ray);
      if ('failure' in read) return undefined;
      const sending = plain.answer(read, head.isLast, channel);
      if (sending) return sending;
      const response = new PlainResponse(channel, head.method, head.isLast);
      handle(read, factsOf(line, ray), line, head.httpVersion, response);
      return response;
    };
  };
  return { factsOf, sideOf, handle, answerPlain, answerStream };
}

/** What answers the plain requests of one connection on the shorter way. */
class PlainAnswers {
  private readonly reader: PlainReader;
  private readonly side: PlainSide;
  private quick: AnswerQuickly | undefined;

  constructor(
    private readonly options: FrontOptions,
    private readonly line: Line,
  ) {
    this.reader = new PlainReader(line);
    this.side = new PlainSide(options, line.tls?.version);
  }

  read(head: PlainHead, ray: string): ReadRequest {
    return this.reader.read(head, ray);
  }

  /** Undefined where the general way answers. */
  answer(request: EdgeRequest, isLast: boolean, channel: Channel): Sending | undefined {
    const { options, line, side } = this;
    if (!options.answersOf || directed(request, line, options.findTls) !== request) return undefined;
    if (!this.quick) this.begin(options.answersOf, channel);
    side.begin(request);
    try {
      return this.quick!(request, isLast);
    } catch (error) {
      options.onFault(error);
      channel.socket.destroy();
      return ENDED;
    }
  }

  private begin(answersOf: AnswersOfConnection, channel: Channel): void {
    this.quick = answersOf(this.side, channel);
    channel.onRest = () => {
      this.quick = undefined;
      this.reader.forget();
    };
  }
}

function createPlain(
  options: FrontOptions,
  further: FurtherRequests,
  handOver: (socket: Socket) => void,
): PlainConnections {
  const { clock, limits = HTTP_LIMITS } = options;
  return createPlainConnections({
    clock,
    firstMs: limits.headersTimeoutMs,
    idleMs: limits.keepAliveMs + KEEP_ALIVE_SLACK_MS,
    keepAliveMs: limits.keepAliveMs,
    checkMs: checkMsOf(limits),
    further,
    handOver,
    onLate: (socket) => answerAndEnd(socket, 408, options),
  });
}

/** An idle connection stays open a little longer than clients are told, as Node's server does. */
const KEEP_ALIVE_SLACK_MS = 1000;

/**
 * A connection for one host may carry requests for another only if both have the same certificate (RFC 9110 §15.5.20), and it was made
 * with the other's versions and suites.
 */
function directed(request: ReadRequest, { tls }: Line, findTls: (host: string) => HostTls | undefined): ReadRequest {
  if (!tls || 'failure' in request || request.host === tls.serverName) return request;
  if (isSame(findTls(request.host), tls, request.host)) return request;
  request.body?.destroy();
  const failure = failureOf('misdirected', `the connection is for ${tls.serverName}`);
  const accept = firstValue(request.headers, 'accept');
  return { failure, host: request.host, ...(accept !== undefined && { accept }) };
}

function isSame(other: HostTls | undefined, { certificate, settings }: SecuredLine, host: string): boolean {
  if (other?.settings !== settings || other.certificate.fingerprint !== certificate.fingerprint) return false;
  return isCovered(host, certificate.names);
}

const TOO_MANY = failureOf('overloaded', 'too many requests for hosts of this account are open');

/** Of a connection that a fault has ended. */
const ENDED: Sending = { drained() {}, closed() {} };

/** Each octet as two hexadecimal digits. */
const HEXADECIMAL = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));

/** Sixteen hexadecimal digits: a random prefix of this process, then a counter. */
function rays(random: Random): () => string {
  const start = Buffer.from(random.bytes(4)).toString('hex');
  let count = Buffer.from(random.bytes(4)).readUInt32BE();
  let most = '';
  return () => {
    count = (count + 1) >>> 0;
    const last = count & 0xff;
    // The others stay the same for as many requests.
    if (last === 0 || most === '') most = start + (count >>> 8).toString(16).padStart(6, '0');
    return most + HEXADECIMAL[last];
  };
}
