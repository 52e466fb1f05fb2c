/** Answers a request in order: loop check, challenge, route, rules, redirect, and then the stages. */

import type { Clock } from '../../base/clock.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import { storedRootsPem } from '../../certs/embedded/issuers.js';
import {
  answerHttpChallenge,
  CHALLENGE_CONTENT_TYPE,
  CHALLENGE_PATH,
  VALIDATION_PATH,
} from '../../certs/http-challenge.js';
import type { BucketRoute, Route } from '../../hostnames/routing/find-route.js';
import type { Store } from '../../store/driver.js';
import { type BalancedRoute, type Balancing, isBalanced } from '../balance/balancing.js';
import { corsHeaders, preflightAnswer } from '../bucket/cors.js';
import { type Failure, failureOf, routeFailure } from '../error-pages/failures.js';
import {
  ASTERISK,
  type EdgeRequest,
  type HeaderList,
  type ResponseSink,
  type ServedRoute,
  type Stage,
} from '../exchange/exchange.js';
import type { RoutingTable } from '../route/table.js';
import { applyRules, type EdgeRules, type Ruled, type RuledRequest } from '../rules/rules.js';
import { hasLooped } from './headers.js';

/** Also takes answers that the edge makes itself. */
export interface AnswerSink extends ResponseSink {
  whole(status: number, headers: HeaderList, body: Buffer): void;
  /** Fields to add to the origin's response. */
  extraHeaders: HeaderList;
  /** Changes the fields of the response, whoever made it. */
  changeFields: ((status: number, headers: HeaderList) => HeaderList) | undefined;
  /** Called when the client disconnects before the end. */
  onGone: () => void;
}

export interface AnswerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly table: RoutingTable;
  readonly loopId: string;
  /** The HTTPS port that clients use: that of the listener, or 443. */
  readonly httpsPort: number;
  readonly httpPort: number;
  readonly balancing: Balancing;
  readonly rules: EdgeRules;
  /** Answers a request that leads to an origin or a bucket. */
  readonly stage: Stage;
}

export type Answer = (request: EdgeRequest, sink: AnswerSink) => void;

export function createAnswer(options: AnswerOptions): Answer {
  const { store, table } = options;
  return (request, sink) => {
    if (request.target === ASTERISK) {
      sink.whole(200, ['content-length', '0', 'cache-control', 'no-store'], EMPTY);
      return;
    }
    const challenge = challengeBody(store, request);
    if (challenge !== undefined) {
      sink.whole(200, [...TEXT, 'content-length', String(challenge.length)], challenge);
      return;
    }
    const found = table.find(request.host);
    const roots = found.kind === 'unknown' ? rootCertificates(options, request) : undefined;
    if (roots !== undefined) {
      sink.whole(200, [...PEM, 'content-length', String(roots.length)], roots);
      return;
    }
    const checked = checkRoute(options, request, found);
    if ('failure' in checked) {
      sink.onFailure(checked.failure);
      return;
    }
    const ruled = options.rules.begin(request, checked.route.zone);
    if (ruled) sink.changeFields = ruled.changeFields;
    const made = rulesFor(request, ruled);
    if ('failure' in made) {
      sink.onFailure(made.failure);
      return;
    }
    if ('elsewhere' in made) {
      sink.whole(made.elsewhere.status, redirectFields(made.elsewhere), EMPTY);
      return;
    }
    const route = withSettings(checked.route, made.settings);
    const location = redirectOf(options, request, route);
    if (location !== undefined) {
      sink.whole(301, redirectFields({ status: 301, location }), EMPTY);
      return;
    }
    deliver(options, made.request, route, sink);
  };
}

/** The route of a request, if nothing has to be done first or added to its response; undefined: {@link Answer} decides. */
export type FindDirect = (request: EdgeRequest) => ServedRoute | undefined;

export function createFindDirect(options: AnswerOptions): FindDirect {
  const { table, rules } = options;
  return (request) => {
    if (isChallengePath(request.target)) return undefined;
    const route = table.find(request.host);
    if (!isDirect(route) || 'failure' in checkRoute(options, request, route)) return undefined;
    if (rules.hasRules(route.zone) || redirectOf(options, request, route) !== undefined) return undefined;
    return securityHeaders(request, route).length > 0 ? undefined : route;
  };
}

/** Whether a route leads to one origin, or to a bucket without CORS rules. */
function isDirect(route: Route): route is ServedRoute {
  if (route.kind === 'origin') return !isBalanced(route);
  return route.kind === 'bucket' && route.bucket.cors === undefined;
}

/** A request that is not redirected. */
function deliver(options: AnswerOptions, request: EdgeRequest, route: ServedRoute, sink: AnswerSink): void {
  const preflight = route.kind === 'bucket' ? preflightAnswer(request, route) : undefined;
  if (preflight) {
    sink.whole(preflight.status, preflight.headers, EMPTY);
    return;
  }
  if (route.kind === 'origin' && isBalanced(route)) {
    answerBalanced(options, request, route, sink);
    return;
  }
  const security = securityHeaders(request, route);
  sink.extraHeaders = route.kind === 'bucket' ? [...security, ...corsHeaders(request, route)] : security;
  sink.onGone = options.stage(request, route, sink);
}

/** Paths of challenges stay as they are, also those of the customer's own server. */
export function rulesFor(request: EdgeRequest, ruled: RuledRequest | undefined): Ruled {
  return ruled && !isChallengePath(request.target) ? applyRules(ruled) : { request, settings: undefined };
}

/** Clients keep what is moved for good without asking again, so they are told how long. */
export function redirectFields({
  status,
  location,
}: {
  readonly status: number;
  readonly location: string;
}): HeaderList {
  const isPermanent = status === 301 || status === 308;
  return ['location', location, 'content-length', '0', 'cache-control', isPermanent ? 'max-age=3600' : 'no-store'];
}

/**
 * By route and by the settings of a page rule: load balancers are compiled once for each route. Hosts below a wildcard are as many as
 * clients like, and each can have as many routes as there are page rules, so only some are kept, of each account its last ones.
 */
const ruledRoutes = new FairCache<number, ServedRoute, Map<object, ServedRoute>>(5000);
const MOST_OF_ROUTE = 16;

/** The route with settings of a page rule instead of the zone's. */
export function withSettings<Served extends ServedRoute>(
  route: Served,
  settings: Readonly<Record<string, unknown>> | undefined,
): Served {
  if (!settings) return route;
  let known = ruledRoutes.get(route);
  if (!known) ruledRoutes.set(route.zone.account, route, (known = new Map()));
  const before = known.get(settings);
  if (before) return before as Served;
  if (known.size >= MOST_OF_ROUTE) known.clear();
  const made = { ...route, settings: { ...route.settings, ...settings } };
  known.set(settings, made);
  return made;
}

function answerBalanced(
  { balancing, stage }: AnswerOptions,
  request: EdgeRequest,
  route: BalancedRoute,
  sink: AnswerSink,
): void {
  const headers = [...securityHeaders(request, route)];
  const balanced = balancing.begin(request, route, headers);
  if ('failure' in balanced) sink.onFailure(balanced.failure);
  else if ('fixed' in balanced) {
    const { statusCode, contentType, location, messageBody } = balanced.fixed;
    const body = Buffer.from(messageBody);
    const fields = ['content-length', String(body.length), 'cache-control', 'no-store'];
    if (contentType !== '') fields.push('content-type', contentType);
    if (location !== '') fields.push('location', location);
    sink.whole(statusCode, fields, body);
  } else {
    // The cookie of a session changes until the response begins.
    sink.extraHeaders = headers;
    sink.onGone = stage(balanced.request, route, sink);
  }
}

/** The checks for both requests and upgrades. */
export function checkRoute(
  { loopId }: Pick<AnswerOptions, 'loopId'>,
  request: EdgeRequest,
  route: Route,
): { readonly route: ServedRoute } | { readonly failure: Failure } {
  if (hasLooped(request.headers, loopId)) {
    return { failure: failureOf('loop', 'the request came from this edge', 'An origin leads back to the edge.') };
  }
  if (route.kind === 'origin') return { route };
  if (route.kind === 'bucket') return route.bucket.enabled ? { route } : { failure: notPublic(route) };
  return { failure: route.kind === 'unknown' ? failureOf('unknownHost', route.host) : routeFailure(route.cause) };
}

function notPublic({ host, bucket }: BucketRoute): Failure {
  const remedy = `PUT /accounts/{account_id}/r2/buckets/${bucket.name}/domains/custom/${host} {"enabled":true}`;
  return failureOf('privateBucket', `${host} is not enabled for the bucket ${bucket.name}`, remedy);
}

const EMPTY = Buffer.alloc(0);
const TEXT = ['content-type', CHALLENGE_CONTENT_TYPE, 'cache-control', 'no-store'];

/** Answers a challenge if it is ours; other challenge paths go to the customer's own server. */
function challengeBody(store: Store, { target, host, method }: EdgeRequest): Buffer | undefined {
  if (!isChallengePath(target) || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const body = answerHttpChallenge(store, host, target);
  return body === undefined ? undefined : Buffer.from(body);
}

function isChallengePath(target: string): boolean {
  return target.startsWith(CHALLENGE_PATH) || target.startsWith(VALIDATION_PATH);
}

const ROOT_PATH = '/ca.pem';
const PEM = ['content-type', 'application/x-pem-file', 'cache-control', 'no-store'];

/**
 * The root of the built-in authority, over plain HTTP, because a client cannot verify HTTPS without it. Only for hosts that
 * lead nowhere, such as the address of the edge: the same path of a known host belongs to its origin.
 */
function rootCertificates(
  { store, clock }: AnswerOptions,
  { target, scheme, method }: EdgeRequest,
): Buffer | undefined {
  const asked = target === ROOT_PATH && scheme === 'http' && (method === 'GET' || method === 'HEAD');
  const roots = asked ? storedRootsPem(store, clock.nowMs()) : '';
  return roots === '' ? undefined : Buffer.from(roots);
}

/** Certificate authorities fetch challenges over plain HTTP, so their paths are never redirected. */
export function redirectOf(
  { httpPort, httpsPort }: Pick<AnswerOptions, 'httpPort' | 'httpsPort'>,
  { scheme, host, target }: EdgeRequest,
  { settings }: ServedRoute,
): string | undefined {
  if (scheme === 'https') return settings.ssl === 'off' ? urlOf('http', host, httpPort, 80, target) : undefined;
  if (settings.always_use_https !== 'on' || settings.ssl === 'off') return undefined;
  if (isChallengePath(target)) return undefined;
  return urlOf('https', host, httpsPort, 443, target);
}

function urlOf(scheme: string, host: string, port: number, usual: number, target: string): string {
  return `${scheme}://${host}${port === usual ? '' : `:${port}`}${target}`;
}

/** Strict-Transport-Security must not be sent over plain HTTP (RFC 6797 §7.2). */
function securityHeaders({ scheme }: EdgeRequest, { settings }: ServedRoute): HeaderList {
  const { enabled, max_age, include_subdomains, preload, nosniff } = settings.security_header.strict_transport_security;
  if (!enabled || scheme !== 'https') return [];
  const parts = [`max-age=${max_age}`, include_subdomains && 'includeSubDomains', preload && 'preload'];
  const header = ['strict-transport-security', parts.filter(Boolean).join('; ')];
  return nosniff ? [...header, 'x-content-type-options', 'nosniff'] : header;
}
