/**
 * The S3 API over HTTP: a listener of its own, on the parser of Node and without a framework. Each request is verified before
 * anything of its body is read, then one row of the table of operations answers it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ListenOptions } from '../base/connections/backlog.js';
import { beginInTurns } from '../base/connections/in-turns.js';
import { shareConnections } from '../base/connections/shared.js';
import { cutStalledConnections, keepWhileAnswering } from '../base/connections/stalled.js';
import { endUnreadBodies } from '../base/connections/unread-bodies.js';
import { answerSender, isSending } from '../bucket/refuse-sender.js';
import { clientAddress } from '../http/forwarded.js';
import { printFieldLines } from '../plain/field-lines.js';
import { type AnswerFirst, answerPlainFirst } from '../plain/in-front.js';
import { answerAtOnce } from './at-once.js';
import { addCorsFields, answerPreflight, rulesOfTarget } from './bucket-cors.js';
import { admitCaller } from './caller.js';
import { S3Error, s3ErrorOf } from './errors.js';
import { perform } from './operations.js';
import type { DoorOptions } from './request.js';
import { storeAtOnce } from './store-at-once.js';
import { readTarget } from './target.js';
import { createVerification, type Verify } from './verification.js';
import { errorDocument } from './xml.js';

export interface S3Server {
  readonly server: Server;
  /** Answers a request that another listener has read. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers plain requests of such a listener first. */
  readonly answerFirst: AnswerFirst;
  /** Rules for connections of such a listener. */
  readonly connection: { readonly limits: typeof LIMITS; readonly onClientError: typeof answerClientError };
  listen(options: ListenOptions): Promise<void>;
  /** Resolves when the running requests are answered. */
  close(): Promise<void>;
}

const MOST_CONNECTIONS = 2048;
const LONGEST_LOGGED = 256;
const SERVER = 'Zoneplane';
const NOTHING = Buffer.alloc(0);
/** In milliseconds: a connection on which nothing moves, a whole request, its headers. */
const LIMITS = {
  connectionTimeout: 30_000,
  requestTimeout: 6 * 3_600_000,
  keepAliveTimeout: 72_000,
  headersTimeout: 15_000,
  maxHeaderSize: 32 * 1024,
} as const;

export function createS3Server(options: DoorOptions): S3Server {
  const verify = createVerification(options);
  const answer = (raw: IncomingMessage, response: ServerResponse): void => {
    void answerRequest(options, verify, raw, response);
  };
  const server = createServer(LIMITS, answer);
  beginInTurns(server);
  endUnreadBodies(server, options.clock);
  const answerFirst: AnswerFirst = (own) => answerPlain(options, verify, own);
  const closeIdle = answerFirst(server);
  server.timeout = LIMITS.connectionTimeout;
  shareConnections(server, MOST_CONNECTIONS);
  // "100 Continue" is sent when reading the body begins, not before (RFC 9110 §10.1.1).
  server.on('checkContinue', (raw, response) => server.emit('request', raw, response));
  // An empty field expects nothing.
  server.on('checkExpectation', (raw, response) => {
    if (raw.headers.expect === '') server.emit('request', raw, response);
    else response.writeHead(417, { 'content-length': 0, connection: 'close' }).end();
  });
  server.on('clientError', answerClientError);
  keepWhileAnswering(server);
  const cutStalled = cutStalledConnections(server, options.clock);
  return {
    server,
    answer,
    answerFirst,
    connection: { limits: LIMITS, onClientError: answerClientError },
    listen: (place) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(place, () => {
          server.removeListener('error', reject);
          resolve();
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        closeIdle();
        cutStalled();
      }),
  };
}

function answerPlain(options: DoorOptions, verify: Verify, server: Parameters<AnswerFirst>[0]): () => void {
  const { clock, base, log } = options;
  return answerPlainFirst(server, {
    clock,
    answer(head, response, socket) {
      const id = base.random.uuid();
      const answered = answerAtOnce(options, verify, { head, id }, response, socket);
      if (!answered) return false;
      const peer = socket.remoteAddress ?? '';
      const { method, url } = head;
      response.whenOver((isWhole) =>
        report(options, { ...answered, method, url, received: 0, ms: 0, id, peer, isWhole }),
      );
      return true;
    },
    store(upload, response, socket) {
      const id = base.random.uuid();
      const beganMs = clock.nowMs();
      const { method, url } = upload;
      return storeAtOnce(options, verify, { upload, id }, socket)?.then(({ headers, fields, error }) => {
        const answer = fields
          ? { status: 200, headers: fields, body: NOTHING }
          : refusalOf(options, error, { id, url });
        const { status, body } = answer;
        const lines = {
          ...answer.headers,
          'x-amz-request-id': id,
          server: SERVER,
          'content-length': String(body.length),
        };
        response.send(status, printFieldLines(Object.entries(lines).flat()), body);
        const received = Number(headers['content-length']);
        const ms = clock.nowMs() - beganMs;
        const peer = socket.remoteAddress ?? '';
        const entry = { id, method, url, status, received, sent: body.length, ms, peer, headers };
        response.whenOver((isWhole) => report(options, { ...entry, isWhole }));
      });
    },
    onFault: (error) => log.error({ err: error }, 'a plain request failed unexpectedly'),
  });
}

async function answerRequest(
  options: DoorOptions,
  verify: Verify,
  raw: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { clock, base } = options;
  const [id, beganMs] = [base.random.uuid(), clock.nowMs()];
  response.setHeader('x-amz-request-id', id);
  response.setHeader('server', SERVER);
  response.once('close', () => report(options, entryOf(raw, response, { id, ms: clock.nowMs() - beganMs })));
  try {
    await serve(options, verify, raw, response, id);
  } catch (error) {
    refuse(options, raw, response, { error, id });
  }
}

async function serve(
  options: DoorOptions,
  verify: Verify,
  raw: IncomingMessage,
  response: ServerResponse,
  id: string,
): Promise<void> {
  // Whoever looks at the name before us may have taken the other one (RFC 9112 §3.2).
  if ((raw.headersDistinct['host']?.length ?? 0) !== 1) throw new S3Error('BadRequest', 'Expected one Host field.');
  await options.refresh?.();
  const { store } = options.base;
  if (raw.method === 'OPTIONS' || raw.headers.origin !== undefined) {
    const asked = readTarget(raw.url!, raw.headers.host!, options.domain);
    const rules = rulesOfTarget(store, asked, asked.account);
    if (raw.method === 'OPTIONS') {
      answerPreflight(raw, response, rules);
      return;
    }
    // A page reads refusals, too.
    addCorsFields(raw, response, rules);
  }
  const { target, fieldsOf, signed, accessKey, operation, address } = verify(raw, raw.socket.remoteAddress ?? '');
  const caller = await admitCaller(options.base, accessKey, { id, address, account: target.account });
  addCorsFields(raw, response, rulesOfTarget(store, target, caller.accountId));
  await perform(operation, { options, raw, response, id, target, headers: fieldsOf(), signed, caller });
}

function refuse(
  options: DoorOptions,
  raw: IncomingMessage,
  response: ServerResponse,
  { error, id }: { readonly error: unknown; readonly id: string },
): void {
  const { status, headers, body } = refusalOf(options, error, { id, url: raw.url!, hasBody: raw.method !== 'HEAD' });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (isSending(raw)) {
    answerSender(raw, response, { status, headers, body }, options.clock);
    return;
  }
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(body);
  raw.resume();
}

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The answer to a request that failed. A bug is logged. */
function refusalOf(
  { log }: DoorOptions,
  thrown: unknown,
  { id, url, hasBody = true }: { readonly id: string; readonly url: string; readonly hasBody?: boolean },
): Refusal {
  const known = s3ErrorOf(thrown);
  if (!known) log.error({ err: thrown, request: id }, 'a request to the S3 API failed unexpectedly');
  const error = known ?? new S3Error('InternalError');
  const resource = url.split('?', 1)[0]!;
  const body = hasBody ? errorDocument(error.code, error.message, resource, id) : NOTHING;
  return {
    status: error.status,
    headers: { ...error.headers, ...(hasBody && { 'content-type': 'application/xml' }) },
    body,
  };
}

/** Answers a request with malformed HTTP. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'HPE_CLOSED_CONNECTION') return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = errorDocument('BadRequest', 'The request is malformed.', '', '').toString();
  const head = ['HTTP/1.1 400 Bad Request', 'Content-Type: application/xml', `Content-Length: ${body.length}`];
  socket.end(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

interface Entry {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  /** Octets, as announced. */
  readonly received: number;
  readonly sent: number;
  readonly ms: number;
  readonly peer: string;
  readonly headers: IncomingMessage['headers'];
  readonly isWhole: boolean;
}

function entryOf(
  { method = '', url = '', headers, socket }: IncomingMessage,
  response: ServerResponse,
  known: Pick<Entry, 'id' | 'ms'>,
): Entry {
  const status = response.statusCode;
  const sent = method === 'HEAD' || status === 304 ? 0 : Number(response.getHeader('content-length') ?? 0);
  const received = Number(headers['content-length'] ?? 0);
  const peer = socket.remoteAddress ?? '';
  return { ...known, method, url, status, received, sent, peer, headers, isWhole: response.writableFinished };
}

/** The access log, without the query, which has signatures, and the counters. */
function report({ log, metrics, trustedProxies }: DoorOptions, entry: Entry): void {
  const { id, method, url, status, received, sent, ms, peer, headers, isWhole } = entry;
  metrics.count(method, status, received, sent);
  if (!log.isLevelEnabled('info')) return;
  const path = url.split('?', 1)[0]!.slice(0, LONGEST_LOGGED);
  const client = clientAddress(peer, headers, trustedProxies) ?? peer;
  const line = { id, method, path, status, received, sent, ms, client };
  log.info({ ...line, ...(!isWhole && { incomplete: true }) }, 'S3 request');
}
