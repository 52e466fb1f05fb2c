/**
 * The S3 API over HTTP: a listener of its own, on the parser of Node and without a framework. Each request is verified before
 * anything of its body is read, then one row of the table of operations answers it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cutStalledConnections, keepWhileAnswering } from '../base/stalled-connections.js';
import { answerSender, isSending } from '../bucket/refuse-sender.js';
import { clientAddress } from '../http/forwarded.js';
import { addCorsFields, answerPreflight, rulesOfTarget } from './bucket-cors.js';
import { admitCaller, requireAccessKey, requireTemporary } from './caller.js';
import { S3Error, s3ErrorOf } from './errors.js';
import { chooseOperation, perform } from './operations.js';
import type { DoorOptions, Fields, S3Request } from './request.js';
import { readAuthorization } from './signature/authorization.js';
import { createSigningKeys, requireTimely, type SigningKeys, verifySignature } from './signature/verify.js';
import { readTarget, type Target } from './target.js';
import { errorDocument } from './xml.js';

export interface S3Server {
  readonly server: Server;
  /** Answers a request that another listener has read. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  listen(place: { readonly host: string; readonly port: number; readonly exclusive: boolean }): Promise<void>;
  /** Resolves when the running requests are answered. */
  close(): Promise<void>;
}

const MOST_CONNECTIONS = 2048;
const LONGEST_LOGGED = 256;
/** In milliseconds: a connection on which nothing moves, a whole request, its headers. */
const IDLE_MS = 30_000;
const TIMEOUTS = {
  requestTimeout: 6 * 3_600_000,
  keepAliveTimeout: 72_000,
  headersTimeout: 15_000,
  maxHeaderSize: 32 * 1024,
} as const;

export function createS3Server(options: DoorOptions): S3Server {
  const keys = createSigningKeys();
  const answer = (raw: IncomingMessage, response: ServerResponse): void => {
    void answerRequest(options, keys, raw, response);
  };
  const server = createServer(TIMEOUTS, answer);
  server.timeout = IDLE_MS;
  server.maxConnections = MOST_CONNECTIONS;
  // "100 Continue" is sent when reading the body begins, not before (RFC 9110 §10.1.1).
  server.on('checkContinue', answer);
  server.on('clientError', answerClientError);
  keepWhileAnswering(server);
  const cutStalled = cutStalledConnections(server, options.clock);
  return {
    server,
    answer,
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
        cutStalled();
      }),
  };
}

async function answerRequest(
  options: DoorOptions,
  keys: SigningKeys,
  raw: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { log, clock, base } = options;
  const [id, beganMs] = [base.random.uuid(), clock.nowMs()];
  response.setHeader('x-amz-request-id', id);
  response.setHeader('server', 'Zoneplane');
  response.once('close', () => report(options, raw, response, { id, beganMs }));
  try {
    await serve(options, keys, raw, response, id);
  } catch (error) {
    const refused = s3ErrorOf(error);
    if (!refused) log.error({ err: error, request: id }, 'a request to the S3 API failed unexpectedly');
    refuse(options, raw, response, { error: refused ?? new S3Error('InternalError'), id });
  }
}

async function serve(
  options: DoorOptions,
  keys: SigningKeys,
  raw: IncomingMessage,
  response: ServerResponse,
  id: string,
): Promise<void> {
  const { base, clock } = options;
  // Whoever looks at the name before us may have taken the other one (RFC 9112 §3.2).
  if ((raw.headersDistinct['host']?.length ?? 0) !== 1) throw new S3Error('BadRequest', 'Expected one Host field.');
  await options.refresh?.();
  const target = readTarget(raw.url!, raw.headers.host!, options.domain);
  if (raw.method === 'OPTIONS') {
    answerPreflight(raw, response, rulesOfTarget(base.store, target, target.account));
    return;
  }
  // A page reads refusals, too.
  if (raw.headers.origin !== undefined) addCorsFields(raw, response, rulesOfTarget(base.store, target, target.account));
  const authorization = readAuthorization(raw, target.query);
  if (!authorization) throw new S3Error('AccessDenied');
  requireTimely(authorization, clock.nowMs());
  const parent = requireAccessKey(base, authorization.accessKeyId);
  const { sessionToken } = authorization;
  const now = { host: raw.headers.host!, nowMs: clock.nowMs() };
  const accessKey = sessionToken === undefined ? parent : requireTemporary(parent, sessionToken, now);
  const signed = verifySignature(raw, target, authorization, keys.keyOf(accessKey.secret, authorization));
  const peer = raw.socket.remoteAddress ?? '';
  const address = clientAddress(peer, raw.headers, options.trustedProxies);
  if (address === undefined) throw new S3Error('BadRequest', 'The fields of a proxy cannot be read.');
  const headers = fieldsOf(raw, target, authorization.expires !== undefined);
  const operation = chooseOperation(raw.method!, target, headers);
  const caller = await admitCaller(base, accessKey, { id, address, account: target.account });
  addCorsFields(raw, response, rulesOfTarget(base.store, target, caller.accountId));
  const request: S3Request = { options, raw, response, id, target, headers, signed, caller };
  await perform(operation, request);
}

/** Those who sign links move fields that they cannot put into a link to its query. */
function fieldsOf({ headers }: IncomingMessage, { query }: Target, isPresigned: boolean): Fields {
  if (!isPresigned) return headers;
  const moved = query.map(([name, value]) => [name.toLowerCase(), value] as const);
  return { ...Object.fromEntries(moved.filter(([name]) => name.startsWith('x-amz-'))), ...headers };
}

function refuse(
  { clock }: DoorOptions,
  raw: IncomingMessage,
  response: ServerResponse,
  { error, id }: { readonly error: S3Error; readonly id: string },
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const resource = raw.url!.split('?', 1)[0]!;
  const hasBody = raw.method !== 'HEAD';
  const body = hasBody ? errorDocument(error.code, error.message, resource, id) : Buffer.alloc(0);
  const headers = { ...error.headers, ...(hasBody && { 'content-type': 'application/xml' }) };
  if (isSending(raw)) {
    answerSender(raw, response, { status: error.status, headers, body }, clock);
    return;
  }
  response.writeHead(error.status, { ...headers, 'content-length': body.length });
  response.end(body);
  raw.resume();
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

/** The access log, without the query, which has signatures, and the counters. The octets are those announced. */
function report(
  { log, metrics, clock, trustedProxies }: DoorOptions,
  raw: IncomingMessage,
  response: ServerResponse,
  { id, beganMs }: { readonly id: string; readonly beganMs: number },
): void {
  const { method = '', headers, socket } = raw;
  const status = response.statusCode;
  const received = Number(headers['content-length'] ?? 0);
  const sent = method === 'HEAD' || status === 304 ? 0 : Number(response.getHeader('content-length') ?? 0);
  metrics.count(method, status, received, sent);
  const path = raw.url!.split('?', 1)[0]!.slice(0, LONGEST_LOGGED);
  const peer = socket.remoteAddress ?? '';
  const client = clientAddress(peer, headers, trustedProxies) ?? peer;
  const isWhole = response.writableFinished;
  const entry = { id, method, path, status, received, sent, ms: clock.nowMs() - beganMs, client };
  log.info({ ...entry, ...(!isWhole && { incomplete: true }) }, 'S3 request');
}
