/**
 * The admin API as a fastify instance: routes, hooks and limits, not yet listening. The order of the hooks is the order in
 * which a request may fail: credential, path, method, identifiers, body, use case (v4: §15.1).
 */
import type { IncomingMessage } from 'node:http';
import helmet from '@fastify/helmet';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type HTTPMethods,
  LogController,
} from 'fastify';
import type { z } from 'zod';
import type { Clock } from '../base/clock.js';
import { parseIP } from '../base/ip.js';
import { makeId } from '../base/random.js';
import type { ObjectStore } from '../bucket/object-store.js';
import type { ContextBase } from '../control/write/context.js';
import type { Propagation } from '../control/write/propagation.js';
import type { HostnameServices } from '../hostnames/context.js';
import { accountRoutes } from './accounts/routes.js';
import { auditLogRoutes } from './audit-logs/routes.js';
import { authenticate } from './auth.js';
import { authorityRootRoutes } from './authority-root/routes.js';
import { JSON_LIMIT_BYTES, parseJson, readOctets } from './body.js';
import { addTag, noteTag } from './conditions.js';
import { answerClientError, MOST_CONNECTIONS, TIMEOUTS } from './connection.js';
import { fallbackRoutes } from './custom-hostnames/fallback-routes.js';
import { hostnameRoutes } from './custom-hostnames/routes.js';
import { recordRoutes } from './dns-records/routes.js';
import { scanRoutes } from './dns-records/scan-routes.js';
import { dnsSettingsRoutes } from './dns-settings/routes.js';
import { failure, MalformedIdentifier, pathOf, sendError } from './errors.js';
import { explainRoutes } from './explain/routes.js';
import { graphqlRoutes } from './graphql/routes.js';
import { healthRoutes, type Readiness } from './health/routes.js';
import { ipRoutes } from './ips/routes.js';
import { membershipRoutes } from './memberships/routes.js';
import { metricsRoutes } from './metrics/routes.js';
import { DOCS_PATH, docsOptions, openapiOptions } from './openapi/document.js';
import { permit, requireArea } from './permission.js';
import { purgeCacheRoutes } from './purge-cache/routes.js';
import { parseQuery } from './query.js';
import { absentBucketRoutes } from './r2-buckets/absent-routes.js';
import { bucketRoutes } from './r2-buckets/routes.js';
import { objectBodyRoutes } from './r2-objects/body-routes.js';
import { objectListRoutes } from './r2-objects/routes.js';
import { registerRateLimit, requestCounter } from './rate-limit.js';
import { addReceipt, checkPreferences } from './receipt.js';
import { makeContextOf } from './request.js';
import { tokenRoutes } from './tokens/routes.js';
import { neighbourRoutes } from './unsupported/routes.js';
import { userRoutes } from './user/routes.js';
import { zoneChangeRoutes } from './zone-changes/routes.js';
import { zoneHistoryRoutes } from './zone-history/routes.js';
import { zoneHoldRoutes } from './zone-hold/routes.js';
import { zoneSettingsRoutes } from './zone-settings/routes.js';
import { zoneRoutes } from './zones/routes.js';

export interface ApiOptions {
  /** What every use case is given, except who asks. */
  readonly base: ContextBase;
  readonly objects: ObjectStore;
  readonly hostnames: HostnameServices;
  /** Address the API will listen on: on loopback the documentation and the metrics need no credential. */
  readonly host: string;
  readonly version: string;
  readonly readiness: () => Readiness;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
  /** Requests a user may send in five minutes; 0 or absent: as many as they like. */
  readonly rateLimit?: number;
  /** What the DNS processes serve; without it nothing is known of them. */
  readonly propagation?: Propagation;
}

/** Where the v4 routes are found: the vendor's base path, and the short one (v4: §0.20). */
const PREFIXES = ['/client/v4', '/v4'] as const;
const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** What fastify calls every JSON body. */
const JSON_WITH_CHARSET = 'application/json; charset=utf-8';
const MAX_PARAM_LENGTH = 2048;

export function buildApi(options: ApiOptions): FastifyInstance {
  const { base } = options;
  const app = fastify({
    loggerInstance: base.log as unknown as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: () => Buffer.from(makeId(base.clock.nowUs(), base.random)).toString('hex'),
    bodyLimit: JSON_LIMIT_BYTES,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    ...TIMEOUTS,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: MAX_PARAM_LENGTH,
      querystringParser: (text) => parseQuery(text) as Record<string, unknown>,
    },
    rewriteUrl: (request) => routableTarget(request.url ?? '/'),
    clientErrorHandler: answerClientError,
    frameworkErrors(error, request, reply) {
      const refuse = (fault: unknown): void => void reply.send(sendError(fault, request, reply) as never);
      authenticate(base, request).then(() => refuse(error), refuse);
    },
  });
  app.server.maxConnections = MOST_CONNECTIONS;
  app.setValidatorCompiler(checkIdentifiers);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request) => {
    throw failure('unroutable', { path: pathOf(request) });
  });
  readBodiesAsOctets(app, base.clock);
  registerSecurityHeaders(app);
  registerRateLimit(app);
  app.after(() => addHooks(app, options));
  registerRoutes(app, options);
  return app;
}

/**
 * The target the router is given. A proxy sends the absolute form (RFC 9112 §3.2.2). Percent signs that begin no escape are
 * escaped below buckets: the router would refuse the path, and it is for the objects to say what is wrong with a key.
 */
function routableTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  return path.includes('/r2/buckets/') && !isDecodable(path) ? path.replaceAll('%', '%25') : path;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Only identifiers in paths are checked by schema. Queries and bodies pass: their schemas describe them, the use cases judge
 * them, leniently and with the errors v4 clients know (v4: §0.9).
 */
const checkIdentifiers: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  if (httpPart !== 'params') return (data) => ({ value: data });
  return (data) => {
    const { success, data: value } = schema.safeParse(data);
    return success ? { value } : { error: new MalformedIdentifier() };
  };
};

/** One parser for whatever the content type says; JSON is read later, where a route has a use for it (v4: §0.5–0.7). */
function readBodiesAsOctets(app: FastifyInstance, clock: Clock): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
    readOctets(payload, {
      declared: Number(request.headers['content-length']),
      limit: request.routeOptions.bodyLimit ?? JSON_LIMIT_BYTES,
      clock,
    }),
  );
}

function addHooks(app: FastifyInstance, { base, host, propagation, rateLimit }: ApiOptions): void {
  const local = isLoopback(host);
  const count = requestCounter(app, rateLimit ?? 0, base.clock);
  app.decorateRequest('caller', null);
  app.decorateRequest('zoneTag', '');
  app.decorateRequest('outcome', null);

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    if (!needsNoCredential(request, local)) await admit(base, request, () => count(request, reply));
    tolerateContentType(request);
  });
  app.addHook('preValidation', async (request) => {
    const { schema, config } = request.routeOptions;
    if (schema?.body && !config.rawBody) request.body = parseJson(request.body as Buffer | undefined);
  });
  app.addHook('preHandler', async (request) => {
    checkPreferences(request);
    noteTag(base.store, request);
  });
  app.addHook('preSerialization', async (request, reply, answer) =>
    addReceipt({ store: base.store, propagation }, request, reply, answer),
  );
  app.addHook('onSend', async (request, reply, payload) => {
    // Clients switch on the bare media type, and JSON has no charset parameter (v4: §1.1, RFC 8259 §11).
    if (reply.getHeader('content-type') === JSON_WITH_CHARSET) reply.header('content-type', 'application/json');
    return addTag(request, reply, payload);
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, id: requestId } = request;
    const ms = Math.round(reply.elapsedTime);
    request.log.debug({ method, path: pathOf(request), status: reply.statusCode, ms, requestId }, 'request');
  });
}

/** Finds out who asks, counts the request, and checks that they may do what its route does. */
async function admit(base: ContextBase, request: FastifyRequest, count: () => Promise<void>): Promise<void> {
  try {
    request.caller = await authenticate(base, request);
  } finally {
    // A wrong credential counts as well, for its address: guessing is a way to send many requests.
    await count();
  }
  request.caller = permit(base, request, request.caller);
}

function needsNoCredential(request: FastifyRequest, local: boolean): boolean {
  const { access } = request.routeOptions.config;
  if (access === 'public') return true;
  return local && (access === 'local' || request.routeOptions.url?.startsWith(DOCS_PATH) === true);
}

/** A content type nobody can parse is treated as none, not as an error (v4: §0.6). */
function tolerateContentType(request: FastifyRequest): void {
  const contentType = request.headers['content-type'];
  if (contentType !== undefined && request.mediaType === undefined) request.raw.headers['content-type'] = undefined;
}

function isLoopback(host: string): boolean {
  const address = parseIP(host);
  if (!address) return false;
  return address.length === 4
    ? address[0] === 127
    : address[15] === 1 && address.every((octet, i) => octet === 0 || i === 15);
}

/** First of all, so that refusals carry them as well. */
function registerSecurityHeaders(app: FastifyInstance): void {
  app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // Whether the connection is encrypted is up to who runs it.
    strictTransportSecurity: false,
  });
}

function registerRoutes(app: FastifyInstance, options: ApiOptions): void {
  const local = isLoopback(options.host);
  app.register(swagger, openapiOptions(options.version, PREFIXES.slice(1)));
  for (const prefix of PREFIXES) app.register((scope) => registerVersion4(scope, options), { prefix });
  app.register(async (scope) => {
    const declared = declaredMethods(scope);
    await scope.register(healthRoutes, options);
    await scope.register(metricsRoutes, options);
    await scope.register(authorityRootRoutes, options);
    scope.get('/openapi.json', { config: { access: 'local' }, schema: { hide: true } }, async () => app.swagger());
    scope.get('/', { config: { access: 'local' }, schema: { hide: true } }, async (_request, reply) =>
      reply.redirect(DOCS_PATH),
    );
    refuseOtherMethods(scope, declared, local ? 'local' : undefined);
  });
  app.register(swaggerUi, docsOptions());
}

async function registerVersion4(
  scope: FastifyInstance,
  { base, objects, hostnames, propagation }: ApiOptions,
): Promise<void> {
  scope.addHook('onRoute', requireArea);
  const declared = declaredMethods(scope);
  const contextOf = makeContextOf(base);
  await scope.register(zoneRoutes, { contextOf });
  await scope.register(recordRoutes, { contextOf });
  await scope.register(scanRoutes, { contextOf });
  await scope.register(explainRoutes, { contextOf });
  await scope.register(dnsSettingsRoutes, { contextOf });
  await scope.register(zoneHoldRoutes, { contextOf });
  await scope.register(purgeCacheRoutes, { contextOf });
  await scope.register(zoneSettingsRoutes, { contextOf });
  await scope.register(zoneChangeRoutes, { contextOf, propagation });
  await scope.register(zoneHistoryRoutes, { contextOf });
  await scope.register(userRoutes, { contextOf });
  await scope.register(tokenRoutes, { contextOf });
  await scope.register(accountRoutes, { contextOf });
  await scope.register(membershipRoutes, { contextOf });
  await scope.register(auditLogRoutes, { contextOf });
  await scope.register(ipRoutes, base.settings);
  await scope.register(bucketRoutes, { contextOf });
  await scope.register(absentBucketRoutes, { contextOf });
  await scope.register(objectListRoutes, { contextOf, objects });
  await scope.register(objectBodyRoutes, { contextOf, objects });
  await scope.register(fallbackRoutes, { contextOf });
  await scope.register(hostnameRoutes, { contextOf, hostnames });
  await scope.register(neighbourRoutes, { contextOf });
  await scope.register(graphqlRoutes, { contextOf });
  refuseOtherMethods(scope, declared);
}

/** Collects which methods each path of a scope has, from now on. */
function declaredMethods(scope: FastifyInstance): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  scope.addHook('onRoute', ({ url, method }) => {
    const methods = declared.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    declared.set(url, methods);
  });
  return declared;
}

/** A known path answers the methods it does not have with 405, not with "no such path" (v4: §1.1). */
function refuseOtherMethods(scope: FastifyInstance, declared: Map<string, Set<string>>, access?: 'local'): void {
  for (const [url, methods] of [...declared]) {
    const allow = METHODS.filter((method) => methods.has(method as string)).join(', ');
    scope.route({
      url: url.slice(scope.prefix.length),
      method: METHODS.filter((method) => !methods.has(method as string)),
      config: access ? { access } : { area: 'any' },
      schema: { hide: true },
      handler: async (_request: FastifyRequest, reply: FastifyReply) => {
        reply.header('allow', allow);
        throw failure('badMethod');
      },
    });
  }
}
