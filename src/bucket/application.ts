/**
 * The bucket application: the objects of one bucket over HTTP, by path (brief: Bucket-object application).
 * Authorization comes before the method and the body are read.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastify, {
  type ConnectionError,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { type Clock, steadyMs } from '../base/clock.js';
import { beginInTurns } from '../base/connections/in-turns.js';
import { shareConnections } from '../base/connections/shared.js';
import { cutStalledConnections } from '../base/connections/stalled.js';
import { endUnreadBodies } from '../base/connections/unread-bodies.js';
import { AppError } from '../base/errors.js';
import type { CidrSet } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import type { Random } from '../base/random.js';
import { temporaryFailure } from '../control/kernel/errors.js';
import { clientAddress } from '../http/forwarded.js';
import { printFieldLines } from '../plain/field-lines.js';
import { type AnswerAtOnce, answerPlainFirst, type StoreAtOnce } from '../plain/in-front.js';
import { fieldsByName, type PlainHead, type PlainUpload } from '../plain/request-head.js';
import type { WholeResponse } from '../plain/whole-response.js';
import type { BucketMetrics } from './application-metrics.js';
import type { Authorize } from './authorization.js';
import { objectHeaders } from './metadata.js';
import { isObjectKey, LONGEST_KEY, type ObjectStore } from './object-store.js';
import { answerSender, isSending } from './refuse-sender.js';
import { keyOfTarget } from './request-key.js';
import { sendObject } from './send-object.js';
import { createSmallAnswers } from './small/answer-small.js';
import { bodyOf, storeObject } from './store-object.js';

export interface ApplicationOptions {
  readonly objects: ObjectStore;
  /** The number of the served bucket, called for every request; undefined when none is bound. */
  readonly boundBucket: () => number | undefined;
  readonly authorize: Authorize;
  /** Largest body of a PUT in octets. */
  readonly limit: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Proxies whose statement about the client is trusted. */
  readonly trustedProxies: CidrSet;
  readonly metrics: BucketMetrics;
  /** In a cluster: applies what other nodes have acknowledged before this call, if PostgreSQL answers. */
  readonly refresh?: () => Promise<void>;
}

const TEXT = 'text/plain;charset=UTF-8';
/** Fields of answers that are not objects. */
const OF_ALL = { 'content-type': TEXT, 'x-content-type-options': 'nosniff' };
/** When to try again what the database could not take. */
const LATER = { 'retry-after': '10' };
const METHODS = new Set(['PUT', 'GET', 'DELETE']);
const MOST_CONNECTIONS = 2048;
const LONGEST_LOGGED = 256;
/** In milliseconds: an idle connection, a whole request (a largest object over a slow line), its headers. */
const TIMEOUTS = {
  connectionTimeout: 60_000,
  requestTimeout: 6 * 3_600_000,
  keepAliveTimeout: 72_000,
  http: { headersTimeout: 15_000, maxHeaderSize: 32 * 1024 },
} as const;

export function buildBucketApplication(options: ApplicationOptions): FastifyInstance {
  const { log } = options;
  const app = fastify({
    loggerInstance: log as unknown as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    // The router is not used, because a key may be any path.
    rewriteUrl: () => '/',
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerClientError,
    ...TIMEOUTS,
  });
  beginInTurns(app.server);
  endUnreadBodies(app.server, options.clock);
  const onFault = (error: unknown): void => log.error({ err: error }, 'a plain request failed unexpectedly');
  const answer: AnswerAtOnce = (head, response, socket) => answerAtOnce(options, head, response, socket);
  const store: StoreAtOnce = (upload, response, socket) => storeAtOnce(options, upload, response, socket);
  const closeIdle = answerPlainFirst(app.server, { clock: options.clock, answer, store, onFault });
  shareConnections(app.server, MOST_CONNECTIONS);
  const cutStalled = cutStalledConnections(app.server, options.clock);
  app.addHook('preClose', async () => {
    closeIdle();
    cutStalled();
  });
  // "100 Continue" is sent when reading the body begins, not before (RFC 9110 §10.1.1).
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => report(options, entryOf(request, reply)));
    const { headers, mediaType, raw } = request;
    // It counts as absent; the framework would answer 415.
    if (headers['content-type'] !== undefined && mediaType === undefined) raw.headers['content-type'] = undefined;
    const refused = judge(options, request);
    if (refused === undefined) done();
    else refuse(request, reply, refused, options.clock);
  });
  app.setErrorHandler((error, request, reply) => refuse(request, reply, answerOf(error, log), options.clock));
  app.setNotFoundHandler((request, reply) => serve(options, request, reply));
  return app;
}

const answerSmall = createSmallAnswers(objectHeaders);

/** A GET of a small object that is allowed; whatever else is asked comes by the way of all requests. */
function answerAtOnce(
  options: ApplicationOptions,
  head: PlainHead,
  response: WholeResponse,
  { remoteAddress = '' }: Socket,
): boolean {
  const { method, url } = head;
  const fields = method === 'GET' && !options.refresh ? fieldsByName(head) : undefined;
  if (!fields) return false;
  const key = keyOfTarget(url);
  if (key === undefined || !options.authorize({ method, key, secret: fields['x-custom-auth-key'] })) return false;
  const bucket = options.boundBucket();
  const object = bucket === undefined ? undefined : options.objects.findSmall(bucket, key);
  const answered = object && answerSmall(object, { method, fields }, response);
  if (!answered) return false;
  response.whenOver((isWhole) =>
    report(options, { ...answered, method, url, received: 0, ms: 0, isWhole, peer: remoteAddress, headers: fields }),
  );
  return true;
}

/** A small PUT that is allowed, likewise. */
function storeAtOnce(
  options: ApplicationOptions,
  upload: PlainUpload,
  response: WholeResponse,
  { remoteAddress: peer = '' }: Socket,
): Promise<void> | undefined {
  const { method, url } = upload;
  const fields = options.refresh ? undefined : fieldsByName(upload);
  const key = fields && keyOfTarget(url);
  if (!fields || key === undefined || !isObjectKey(key)) return undefined;
  if (!options.authorize({ method, key, secret: fields['x-custom-auth-key'] })) return undefined;
  const bucket = options.boundBucket();
  if (bucket === undefined) return undefined;
  const { clock, limit, log, objects } = options;
  const beganMs = steadyMs(clock);
  const answer = ({ status, text, headers }: Refusal): void => {
    const body = Buffer.from(text);
    const lines = { ...OF_ALL, ...headers, 'content-length': String(body.length) };
    response.send(status, printFieldLines(Object.entries(lines).flat()), body);
    const ms = Math.round(steadyMs(clock) - beganMs);
    const entry = { method, url, status, received: upload.body.length, sent: body.length, ms, peer, headers: fields };
    response.whenOver((isWhole) => report(options, { ...entry, isWhole }));
  };
  return storeObject(objects, bucket, key, { headers: fields, body: [Buffer.from(upload.body)], limit }).then(
    ({ etag }) => answer({ status: 200, text: stored(key), headers: { etag: `"${etag}"` } }),
    (error) => answer(answerOf(error, log)),
  );
}

const stored = (key: string): string => `Put ${key} successfully!`;

interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The reason to refuse a request before its body is read. */
function judge({ authorize }: ApplicationOptions, request: FastifyRequest): Refusal | undefined {
  const { method, raw, originalUrl } = request;
  const key = keyOfTarget(originalUrl);
  // Repeated headers are not joined; the first one counts.
  const secret = raw.headersDistinct['x-custom-auth-key']?.[0];
  if (!authorize({ method, key: key ?? '', secret })) return { status: 403, text: 'Forbidden' };
  // Whoever looks at the name before us may have taken the other one (RFC 9112 §3.2).
  if ((raw.headersDistinct['host']?.length ?? 0) > 1) return { status: 400, text: 'Bad Request: more than one Host.' };
  if (!METHODS.has(method)) {
    return { status: 405, text: 'Method Not Allowed', headers: { allow: [...METHODS].join(', ') } };
  }
  if (key === undefined) return { status: 400, text: 'Bad Request: the target is not a path.' };
  if (!isObjectKey(key)) return { status: 400, text: `Bad Request: the key is longer than ${LONGEST_KEY} octets.` };
  return undefined;
}

async function serve(options: ApplicationOptions, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { objects, limit, random } = options;
  await options.refresh?.();
  const bucket = options.boundBucket();
  if (bucket === undefined) throw new NoBucketBound();
  const key = keyOfTarget(request.originalUrl)!;
  reply.header('x-content-type-options', 'nosniff');
  switch (request.method) {
    case 'PUT': {
      const { raw, headers } = request;
      const body = bodyOf(raw, () => allowBody(raw, reply));
      const { etag } = await storeObject(objects, bucket, key, { headers, body, limit });
      return reply.code(200).header('etag', `"${etag}"`).type(TEXT).send(stored(key));
    }
    case 'DELETE':
      await objects.delete(bucket, [key]);
      return reply.code(200).type(TEXT).send('Deleted!');
    default:
      return sendObject((client) => objects.open(bucket, key, client), request, reply, random);
  }
}

/** A client that waits for "100 Continue" gets it once all other checks have passed (RFC 9110 §10.1.1). */
function allowBody({ headers }: IncomingMessage, reply: FastifyReply): void {
  if (headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue();
}

/** `zoneplane bucket bind` has not been run yet. */
class NoBucketBound extends Error {}

/** The key of a refusal that has a text of its own. */
const LOCKED = 'objects.locked';

const TEXTS: Readonly<Record<number, string>> = {
  404: 'Object Not Found',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  416: 'Range Not Satisfiable',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

/** Errors of this application in plain text. A bug is logged once, and the client gets a general message. */
function answerOf(error: unknown, log: Logger): Refusal {
  if (error instanceof NoBucketBound) return { status: 503, text: 'No Bucket Bound' };
  const refused = error instanceof AppError ? error : temporaryFailure(error);
  if (refused) {
    const text =
      refused.key === LOCKED ? 'Object Locked' : (TEXTS[refused.status] ?? `Bad Request: ${refused.message}`);
    return { status: refused.status, text, ...(refused.status === 503 && { headers: LATER }) };
  }
  log.error({ err: error }, 'a request to the bucket application failed unexpectedly');
  return { status: 500, text: 'Internal Server Error' };
}

/**
 * Refuses in plain text. A client that is still sending receives the whole answer and may send a little longer; closing
 * at once would reset the connection and lose the answer.
 */
function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Refusal, clock: Clock): void {
  const { status, text, headers } = refusal;
  const body = Buffer.from(text);
  const { raw } = request;
  const head = {
    ...(reply.getHeaders() as Record<string, string>),
    ...headers,
    ...OF_ALL,
  };
  if (!isSending(raw)) {
    void reply.code(status).headers(head).send(body);
    return;
  }
  reply.hijack();
  answerSender(raw, reply.raw, { status, headers: head, body }, clock);
}

/** Answers a request with malformed HTTP. */
function answerClientError(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const text = 'Bad Request';
  const head = [
    'HTTP/1.1 400 Bad Request',
    `Content-Type: ${TEXT}`,
    `Content-Length: ${text.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

interface Entry {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  /** Octets, as announced by the headers. */
  readonly received: number;
  readonly sent: number;
  readonly ms: number;
  /** Otherwise the body was damaged, or the client went away. */
  readonly isWhole: boolean;
  readonly peer: string;
  readonly headers: Parameters<typeof clientAddress>[1];
}

function entryOf({ method, raw, originalUrl, socket }: FastifyRequest, reply: FastifyReply): Entry {
  const status = reply.raw.statusCode;
  return {
    ...{ method, url: originalUrl, status, headers: raw.headers, peer: socket.remoteAddress ?? '' },
    received: Number(raw.headers['content-length'] ?? 0),
    sent: method === 'HEAD' || status === 304 ? 0 : Number(reply.getHeader('content-length') ?? 0),
    ms: Math.round(reply.elapsedTime),
    isWhole: reply.raw.writableFinished,
  };
}

/** Writes the access log, without credentials, and the counters. */
function report({ log, metrics, trustedProxies }: ApplicationOptions, entry: Entry): void {
  const { method, url, status, received, sent, ms, isWhole, peer, headers } = entry;
  metrics.count(method, status, received, sent);
  if (!log.isLevelEnabled('info')) return;
  const path = url.split('?', 1)[0]!.slice(0, LONGEST_LOGGED);
  // The peer if the proxies' headers cannot be parsed.
  const client = clientAddress(peer, headers, trustedProxies) ?? peer;
  log.info(
    { method, path, status, received, sent, ms, client, ...(!isWhole && { incomplete: true }) },
    'bucket request',
  );
}
