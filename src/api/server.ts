/**
 * The admin API as a fastify instance: routes, hooks and limits, not yet listening. The order of the hooks is the order
 * of checks: credential, path, method, identifiers, body, use case (v4: §15.1).
 */
import type { IncomingMessage } from 'node:http';
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
import { createSender, type Sender } from '../alerts/send.js';
import type { Clock } from '../base/clock.js';
import { beginInTurns } from '../base/connections/in-turns.js';
import { shareConnections } from '../base/connections/shared.js';
import { cutStalledConnections, keepWhileAnswering } from '../base/connections/stalled.js';
import { endUnreadBodies } from '../base/connections/unread-bodies.js';
import type { CidrSet } from '../base/ip.js';
import type { LinkSigner } from '../bucket/credentials/keys.js';
import type { ObjectStore } from '../bucket/object-store.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { Propagation } from '../control/kernel/propagation.js';
import type { Surroundings } from '../explain/balancer.js';
import type { HostnameServices } from '../hostnames/context.js';
import type { PoolProbing } from '../monitoring/pool-probing.js';
import { type Activity, createActivity } from '../observe/activity.js';
import { type AnswerFirst, answerPlainFirst } from '../plain/in-front.js';
import type { SignInServices } from '../sign-in/services.js';
import type { Statistics } from '../statistics/recorder.js';
import type { Finding } from '../warnings/finding.js';
import { authenticate } from './auth.js';
import { bodyFailure, JSON_LIMIT_BYTES, parseJson, readOctets } from './body.js';
import { createBodyRoom } from './body-room.js';
import { checkBody, checkLargeBody, refuseText } from './body-schema.js';
import { clientAddressFinder, isFromThisMachine, isLocalAt, isLoopback, schemeFinder } from './client-address.js';
import type { Cluster } from './cluster/schema.js';
import { addTag, noteTag } from './conditions.js';
import { answerClientError, MOST_CONNECTIONS, PREFIX, ROUTING, SECURITY_FIELDS, TIMEOUTS } from './connection.js';
import { createCurrentReads, type FollowingCopy } from './current.js';
import { type Assets, loadAssets } from './dashboard/assets.js';
import { guideRoutes } from './dashboard/guide.js';
import { dashboardRoutes, sendMissing, wantsPage } from './dashboard/routes.js';
import { createDiskGuard } from './disk-guard.js';
import { failure, loggedPathOf, MalformedIdentifier, pathOf, sendError } from './errors.js';
import { createEventStreams, type EventStreams } from './events/streams.js';
import type { Purpose, Readiness } from './health/routes.js';
import { DOCS_PATH, docsOptions, openapiOptions } from './openapi/document.js';
import { readDocument } from './openapi/file.js';
import { createWarningSource } from './overview/warnings.js';
import { permit, requireArea, requireStillPermitted } from './permission.js';
import type { ApplicationFacts } from './r2-application/routes.js';
import { createObjectAnswers } from './r2-objects/at-once.js';
import { createObjectUploads } from './r2-objects/store-at-once.js';
import { type CountRequest, requestCounter } from './rate-limit.js';
import { readApart } from './reading/apart.js';
import type { Readers } from './reading/readers.js';
import { addReceipt, checkPreferences } from './receipt.js';
import { makeContextOf, type RouteScope, requestIdOf } from './request.js';
import { createRequestMetrics, nameTurnsOf, noteRequest, type RequestMetrics } from './request-metrics.js';
import { ROOT_ROUTES, ROUTES, type RouteParts } from './routes.js';
import { routesOf } from './routing/route.js';
import { requireFactors } from './sign-in/factors-needed.js';

export interface ApiOptions {
  /** The context of every use case without the actor. */
  readonly base: ContextBase;
  readonly objects: ObjectStore;
  readonly hostnames: HostnameServices;
  /** Address the API will listen on: on loopback the documentation needs no credential. */
  readonly host: string;
  readonly version: string;
  readonly readiness: (purpose?: Purpose) => Readiness;
  /** Whether everybody may read the metrics, not only this machine and who has a credential. */
  readonly metricsPublic?: boolean;
  /** Where requests are counted. */
  readonly requestMetrics?: RequestMetrics;
  /** Warnings that the database does not show; absent: none. */
  readonly processFindings?: () => Promise<readonly Finding[]>;
  /** How many warnings there are by kind, for `/readyz`. */
  readonly warningCounts?: () => Readonly<Record<string, number>> | undefined;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
  /** Requests of a user in five minutes; 0 or absent: no limit. */
  readonly rateLimit?: number;
  /** Proxies whose statement about the client is trusted; absent: none. */
  readonly trustedProxies?: CidrSet;
  /** What the DNS processes serve; without it nothing is known about them. */
  readonly propagation?: Propagation;
  /** What is known about questions; absent: nothing. */
  readonly activity?: Activity;
  /** What DNS was asked and is not stored yet; absent: nothing is counted here. */
  readonly statistics?: Pick<Statistics, 'pendingOf'>;
  /** What is known of the nodes; absent: one machine. */
  readonly readCluster?: () => Promise<Cluster>;
  /** The bucket application; absent: it is nowhere. */
  readonly application?: ApplicationFacts;
  /** Host and port of the S3 API; absent: as it is by default. */
  readonly s3Host?: string;
  /** Signs links to objects; undefined: nobody can ask for them. */
  readonly links?: LinkSigner | undefined;
  readonly signIn: SignInServices;
  /** Absent: streams that poll for events. */
  readonly events?: EventStreams;
  /** Sends tests to webhooks; absent: a sender that trusts only the public roots. */
  readonly sender?: Sender;
  /** What probes origins; absent: nothing does. */
  readonly probing?: PoolProbing;
  /** The location of this server, and its data about the locations of clients; absent: none. */
  readonly surroundings?: () => Surroundings;
  /** Whether threads answer requests that may read for long. */
  readonly readers?: Readers;
  /** In a cluster: the copy that requests read. */
  readonly copy?: FollowingCopy;
  /** Whether the OpenAPI document is generated from the routes; by default, the one that the build has written is used. */
  readonly describes?: boolean;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** For another listener whose requests the API answers, too. */
    readonly answerFirst: AnswerFirst;
  }
}

type BuiltOptions = ApiOptions & { readonly events: EventStreams; readonly requestMetrics: RequestMetrics };

const METHODS: readonly HTTPMethods[] = [
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const),
  // No path has them.
  ...(['TRACE', 'PROPFIND'] as const),
];
/** The content type that fastify sets on every JSON body. */
const JSON_WITH_CHARSET = 'application/json; charset=utf-8';

export function buildApi(given: ApiOptions): FastifyInstance {
  const events = given.events ?? createEventStreams(given.base, given.readers);
  const options = { ...given, events, requestMetrics: given.requestMetrics ?? createRequestMetrics() };
  const { base } = options;
  const count = requestCounter(options.rateLimit ?? 0, base.clock);
  const assets = loadAssets();
  const app = fastify({
    loggerInstance: base.log as unknown as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: () => requestIdOf(base),
    bodyLimit: JSON_LIMIT_BYTES,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    ...TIMEOUTS,
    ...ROUTING,
    clientErrorHandler: answerClientError,
    frameworkErrors(error, request, reply) {
      if (assets && wantsPage(request)) {
        reply.send(sendMissing(assets, request, reply) as never);
        return;
      }
      const refuse = (fault: unknown): void => void reply.send(sendError(fault, request, reply) as never);
      authenticate(base, request).then(() => refuse(error), refuse);
    },
  });
  beginInTurns(app.server);
  endUnreadBodies(app.server, base.clock);
  const plain = {
    clock: base.clock,
    answer: createObjectAnswers({ ...options, count }),
    store: createObjectUploads({ ...options, count }),
    onFault: (error: unknown) => base.log.error({ err: error }, 'a plain request failed unexpectedly'),
  };
  const closeIdle = answerPlainFirst(app.server, plain);
  app.decorate('answerFirst', (server: Parameters<AnswerFirst>[0]) => answerPlainFirst(server, plain));
  shareConnections(app.server, MOST_CONNECTIONS);
  app.addHttpMethod('PROPFIND', { hasBody: true });
  app.setValidatorCompiler(checkRequest);
  keepWhileAnswering(app.server);
  const cutStalled = cutStalledConnections(app.server, base.clock);
  app.addHook('preClose', async () => {
    events.close();
    closeIdle();
    cutStalled();
  });
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler(async (request, reply) => {
    if (assets && wantsPage(request)) return sendMissing(assets, request, reply);
    throw failure('unroutable', { path: pathOf(request) });
  });
  readBodiesAsOctets(app, base.clock);
  addHooks(app, options, count);
  registerRoutes(app, options, assets);
  return app;
}

/**
 * Schemas check identifiers in paths and the shape of bodies. Queries and headers are only described, because clients
 * spell them in many ways (query.ts). The use cases check the meaning of a body.
 */
const checkRequest: FastifySchemaCompiler<z.ZodType> = (part) =>
  part.httpPart === 'body' ? (body) => checkBody(part.schema, body) : checkIdentifiers(part);

const checkIdentifiers: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  if (httpPart !== 'params') return (data) => ({ value: data });
  return (data) => {
    const { success, data: value } = schema.safeParse(data);
    return success ? { value } : { error: new MalformedIdentifier() };
  };
};

/** One parser for any content type; JSON is parsed later, by routes that use it (v4: §0.5–0.7). */
function readBodiesAsOctets(app: FastifyInstance, clock: Clock): void {
  const takeRoom = createBodyRoom();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    const declared = Number(length);
    const limit = request.routeOptions.bodyLimit ?? JSON_LIMIT_BYTES;
    // Without either field there is no body (RFC 9112 §6.3), whatever its type; a larger one is not kept.
    if (!(declared > limit)) takeRoom(request.caller, coding ? limit : declared || 0, request.response!);
    return readOctets(payload, { declared, limit, clock });
  });
}

function addHooks(app: FastifyInstance, options: BuiltOptions, count: CountRequest): void {
  const { base, propagation, trustedProxies, requestMetrics } = options;
  const reads = createCurrentReads(base.store, options.copy);
  const admit = (request: FastifyRequest): Promise<void> => admitCaller(options, request);
  app.decorateRequest('caller', null);
  app.decorateRequest('response', null);
  app.decorateRequest('clientAddress', { getter: clientAddressFinder(base.store, trustedProxies) });
  app.decorateRequest('isSecure', { getter: schemeFinder(trustedProxies) });
  app.decorateRequest('zoneTag', '');
  app.decorateRequest('outcome', null);
  app.decorateRequest('readPoint', null);
  app.decorateRequest('mayMove', false);

  app.addHook('onRoute', (route) => {
    // A handler that reads the body itself also checks it.
    if (route.config?.rawBody) route.validatorCompiler = checkIdentifiers as FastifySchemaCompiler<unknown>;
    reads.wrapHandler(route, admit);
    if (options.readers) readApart(route, options.readers, base.store);
  });
  app.addHook('onRequest', nameTurnsOf);
  app.addHook('onRequest', async (request, reply) => {
    request.response = reply.raw;
    reply.headers({ ...SECURITY_FIELDS, 'x-request-id': request.id, 'cache-control': 'no-store' });
    await reads.begin(request);
    if (!needsNoCredential(request, options)) {
      // A request with a wrong credential counts for its address, because guessing takes many requests.
      await reads.read(request, () => admit(request)).finally(() => countRequest(count, request, reply));
    }
    tolerateContentType(request);
  });
  app.addHook('preValidation', async (request) => {
    const { schema, config } = request.routeOptions;
    // What a client sends is checked, also where nothing in it is used; with DELETE it has no meaning (RFC 9110 §9.3.5).
    const isSent = Buffer.isBuffer(request.body) && request.method !== 'DELETE';
    if (config?.rawBody || !(schema?.body || (isSent && config?.area))) return;
    const read = await parseJson(request.body as Buffer | undefined, request.headers['content-encoding']);
    if ('fault' in read)
      throw schema?.body ? refuseText(schema.body as z.ZodType, read.fault) : bodyFailure(read.fault);
    const { body: form } = schema ?? {};
    request.body = form ? await checkLargeBody(form as z.ZodType, read.value, base.clock) : read.value;
  });
  const guardDisk = createDiskGuard(base.disk);
  app.addHook('preHandler', async (request) => {
    guardDisk(request);
    checkPreferences(request);
    noteTag(base.store, request);
  });
  app.addHook('preSerialization', async (request, reply, answer) =>
    addReceipt({ store: base.store, propagation }, request, reply, answer),
  );
  app.addHook('onSend', async (request, reply, payload) => {
    // Clients compare the bare media type, and JSON has no charset parameter (v4: §1.1, RFC 8259 §11).
    if (reply.getHeader('content-type') === JSON_WITH_CHARSET) reply.header('content-type', 'application/json');
    return addTag(request, reply, payload);
  });
  app.addHook('onResponse', async (request, reply) => {
    noteRequest(requestMetrics, request, reply, loggedPathOf(request));
  });
}

/** Authenticates the request, and checks the permission for its route. */
async function admitCaller(options: ApiOptions, request: FastifyRequest): Promise<void> {
  const { base } = options;
  request.caller = await authenticate(base, request);
  request.caller = permit(base, request, request.caller);
  requireFactors(options, request, request.caller);
}

function needsNoCredential(request: FastifyRequest, { host, metricsPublic = false }: ApiOptions): boolean {
  const { access } = request.routeOptions.config;
  // What a browser gets where nothing is holds no data.
  if (access === 'public' || (request.is404 && wantsPage(request))) return true;
  if (access === 'metrics') return metricsPublic || isFromThisMachine(request);
  return isLocalAt(host, request) && (access === 'local' || request.routeOptions.url?.startsWith(DOCS_PATH) === true);
}

/** An unparsable content type counts as absent, not as an error (v4: §0.6). */
function tolerateContentType(request: FastifyRequest): void {
  const contentType = request.headers['content-type'];
  if (contentType !== undefined && request.mediaType === undefined) request.raw.headers['content-type'] = undefined;
}

/** Counts a request and tells the client how many remain. Throws 429/971 when none do. */
function countRequest(count: CountRequest, request: FastifyRequest, reply: FastifyReply): void {
  const quota = count(request);
  if (!quota) return;
  reply.headers(quota.fields);
  if (quota.isExceeded) throw failure('tooManyRequests');
}

function registerRoutes(app: FastifyInstance, options: BuiltOptions, assets: Assets | undefined): void {
  const local = isLoopback(options.host);
  app.register(swagger, openapiOptions(options));
  app.register((scope: RouteScope) => registerVersion4(scope, options), { prefix: PREFIX });
  app.register(async (scope) => {
    const declared = declaredMethods(scope);
    for (const routes of ROOT_ROUTES) await scope.register(routes, options);
    scope.get('/openapi.json', { config: { access: 'local' }, schema: { hide: true } }, async (_request, reply) =>
      reply.type('application/json').send(await readDocument()),
    );
    await scope.register(dashboardRoutes, { base: options.base, assets });
    await scope.register(guideRoutes);
    refuseOtherMethods(scope, declared, local ? 'local' : undefined);
  });
  app.register(swaggerUi, docsOptions());
}

async function registerVersion4(scope: RouteScope, options: BuiltOptions): Promise<void> {
  const {
    base,
    objects,
    hostnames,
    propagation,
    readCluster,
    signIn,
    application,
    s3Host = 'localhost:8055',
    links,
  } = options;
  const { certificates } = hostnames;
  scope.addHook('onRoute', requireArea);
  const declared = declaredMethods(scope);
  const parts: RouteParts = {
    ...{ objects, hostnames, certificates, propagation, readCluster, signIn, application, s3Host, links },
    probing: options.probing,
    surroundings: options.surroundings ?? (() => ({ region: '', pop: '', places: undefined })),
    exportApart: options.readers?.export,
    services: { vault: certificates.vault },
    events: options.events,
    alerts: { vault: certificates.vault, sendsMail: signIn.sendMail !== undefined, sender: senderOf(options) },
    statistics: options.statistics,
    activity: options.activity ?? createActivity(base.clock, () => undefined),
    edgeAddresses: base.settings.edgeAddresses,
    warnings: createWarningSource(base, options.readers, options.processFindings ?? (async () => [])),
  };
  // A plugin of its own for each would cost more than the routes.
  const contextOf = makeContextOf(base, (request) => requireStillPermitted(base, request));
  const routes = routesOf(scope, contextOf);
  for (const add of ROUTES) await add(routes, parts);
  refuseOtherMethods(scope, declared);
}

function senderOf({ sender, base, hostnames: { resolver } }: ApiOptions): Sender {
  return sender ?? createSender({ clock: base.clock, egress: base.egress, resolver });
}

/** Collects the methods of each path of a scope from now on. */
function declaredMethods(scope: FastifyInstance): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  scope.addHook('onRoute', ({ url, method }) => {
    const methods = declared.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    declared.set(url, methods);
  });
  return declared;
}

/** A known path answers 405 to methods that it does not have, not "no such path" (v4: §1.1). */
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
