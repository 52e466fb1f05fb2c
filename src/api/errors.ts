/** The only place that writes `errors[]`, the status and the retry headers of refusals (v4: §1.2, §15). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, defineErrors, messageOf } from '../base/errors.js';
import { temporaryFailure } from '../control/kernel/errors.js';
import { StoreFull, WriteUnconfirmed } from '../store/failures.js';
import { type Failure, type Message, refusal } from './envelope.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a part of the route's path is a secret, which no log may have. */
    hidesPath?: boolean;
  }
}

/** Refusals of the HTTP layer itself; control/ has those of zones and records. */
export const failure = defineErrors('api', {
  noCredential: { status: 400, code: 9106, text: 'Missing X-Auth-Key, X-Auth-Email or Authorization headers' },
  badHeaders: { status: 400, code: 6003, text: 'Invalid request headers' },
  unknownKey: { status: 403, code: 9103, text: 'Unknown X-Auth-Key or X-Auth-Email' },
  tooManyRequests: {
    status: 429,
    code: 971,
    text: 'Please wait and consider throttling your request speed',
  },
  tooManyReads: {
    status: 429,
    code: 971,
    text: 'Too many long lists, searches and exports of this account wait already. Please wait for their answers.',
  },
  tooManyBodies: {
    status: 429,
    code: 971,
    text: 'Bodies of requests of this account that are not answered yet take too much memory. Please wait for their answers.',
  },
  tooManyStreams: {
    status: 429,
    code: 971,
    text: 'Too many streams of events of this credential, account or network are open. Close one first.',
  },
  wrongLocation: { status: 403, code: 9109, text: 'Cannot use the access token from location: {address}' },
  unknownToken: { status: 403, code: 9109, text: 'Invalid access token' },
  keyOnTokenRoute: { status: 403, code: 9109, text: 'Unauthorized to access requested resource' },
  invalidToken: { status: 401, code: 1000, text: 'Invalid API Token' },
  unroutable: {
    status: 404,
    code: 7003,
    text: 'Could not route to {path}, perhaps your object identifier is invalid?',
  },
  sessionOver: { status: 401, code: 9109, text: 'The session has ended. Please sign in again.' },
  foreignPage: {
    status: 403,
    code: 9109,
    text: 'A session accepts requests only from the dashboard itself: {reason}.',
  },
  unknownLink: { status: 403, code: 9109, text: 'This sign-in link was used already, or is too old.' },
  needsCredential: { status: 400, code: 9106, text: 'A session begins with a key, a token or a sign-in link.' },
  badMethod: { status: 405, code: 10405, text: 'Method not allowed' },
  badBody: { status: 400, code: 9207, text: 'Request body is invalid.' },
  badParameter: { status: 400, code: 9207, text: 'Query parameter {name} is invalid: expected {expected}.' },
  badHeader: { status: 400, code: 9207, text: 'Header {name} is invalid: expected {expected}.' },
  badCondition: {
    status: 400,
    code: 9207,
    text: 'Header {header} is invalid: expected * or a list of entity tags in quotes.',
  },
  noDryRun: { status: 400, code: 9207, text: 'This request has no dry run. Nothing was done.' },
  noAsOf: { status: 400, code: 9207, text: 'An export shows the present state; as_of is not supported here.' },
  bodyTooLarge: { status: 400, code: 9207, text: 'Request body is too large: at most {limit} octets are accepted.' },
  badRequest: { status: 400, code: 9207, text: 'The HTTP request is invalid: {detail}.' },
  tooSlow: { status: 400, code: 9207, text: 'The request did not arrive in time.' },
  accountsOnServer: {
    status: 403,
    code: 1002,
    text: 'Accounts are created on the server, with `zoneplane account create`.',
  },
  // The code with which the vendor's rule sets answer.
  notHere: { status: 400, code: 1015, text: '{what} not part of this service.' },
  badCertificate: { status: 400, code: 1006, text: 'The certificate cannot be read: {reason}' },
  internal: { status: 500, code: 1500, text: 'Internal server error.' },
});

/** A malformed identifier in the path; it becomes `unroutable` with the path of its request (v4: §1.3). */
export class MalformedIdentifier extends Error {}

/** The client went away in the middle of its request: nobody reads an answer. */
export class HungUp extends Error {}

/** The `errors[]` items of a refusal. */
export function errorItems(error: AppError): Message[] {
  const first: Message = {
    code: error.code,
    message: error.message,
    // An empty pointer means the whole body and is omitted.
    ...(error.pointer ? { source: { pointer: error.pointer } } : {}),
    ...(error.chain === undefined ? {} : { error_chain: error.chain }),
  };
  return [first, ...(error.also ?? []).map(({ code, message }) => ({ code, message }))];
}

/** The target of a request to this server. A proxy sends the absolute form (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}

/** What the answer to a failed request needs of it. */
interface Failed extends Pick<FastifyRequest, 'id' | 'originalUrl'> {
  readonly log: Pick<FastifyRequest['log'], 'debug' | 'error'>;
  readonly routeOptions: {
    readonly config?: { readonly hidesPath?: boolean; readonly area?: unknown };
    readonly url?: string | undefined;
    readonly bodyLimit?: number | undefined;
  };
}

/** The path of a request without its query. */
export function pathOf(request: Pick<FastifyRequest, 'originalUrl'>): string {
  return originForm(request.originalUrl).split('?', 1)[0]!;
}

/** The same for log lines: the route alone where a part of the path is a secret. */
export function loggedPathOf(request: Failed): string {
  const { config, url } = request.routeOptions;
  return (config?.hidesPath && url) || pathOf(request);
}

/** Answers a failed request. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): Failure {
  const { status, fields, body } = describeError(error, request);
  reply.code(status).headers(fields);
  return body;
}

/** The answer to a failed request. An unexpected error is logged with its stack, and the client learns no details. */
export function describeError(
  error: unknown,
  request: Failed,
): { readonly status: number; readonly fields: Readonly<Record<string, string>>; readonly body: Failure } {
  const known = refusalOf(error, request);
  if (!known) request.log.error({ err: error, requestId: request.id }, 'a request failed unexpectedly');
  const refused = known ?? failure('internal');
  const { status, retryAfterSeconds = status === 503 ? 1 : undefined } = refused;
  const fields = {
    // Without this header, the vendor's clients retry a conflict twice (v4: §0.18).
    ...(status === 409 && { 'x-should-retry': 'false' }),
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  };
  return { status, fields, body: refusal(errorItems(refused)) };
}

function refusalOf(error: unknown, request: Failed): AppError | undefined {
  if (error instanceof AppError) return error;
  if (error instanceof MalformedIdentifier) return failure('unroutable', { path: pathOf(request) });
  if (error instanceof HungUp) {
    request.log.debug(
      { requestId: request.id, path: loggedPathOf(request) },
      'a client hung up before its request was complete',
    );
    return failure('badRequest', { detail: 'it breaks off' });
  }
  if (error instanceof StoreFull || error instanceof WriteUnconfirmed) {
    request.log.error({ err: error, requestId: request.id }, 'the disk did not take a change');
  }
  return temporaryFailure(error) ?? frameworkRefusal(error, request);
}

/** Errors that fastify finds in a request before the handler runs. */
function frameworkRefusal(error: unknown, request: Failed): AppError | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) {
    return undefined;
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return failure('bodyTooLarge', { limit: request.routeOptions.bodyLimit ?? 0 });
  }
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return failure('unroutable', { path: pathOf(request) });
  }
  return code.startsWith('FST_ERR_') ? failure('badRequest', { detail: messageOf(error) }) : undefined;
}
