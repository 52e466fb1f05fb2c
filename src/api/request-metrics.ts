/** What is counted and logged about each request to the admin API. */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { nameTurns } from '../base/long-turns.js';
import { createHistogram, type Histogram, type MetricSample } from '../base/metrics.js';

export interface RequestMetrics {
  readonly latency: Histogram;
  samples(): MetricSample[];
}

/** Upper limits of the buckets, seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export function createRequestMetrics(): RequestMetrics {
  const latency = createHistogram(
    'api_request_seconds',
    'Time from the headers of an API request to the end of its answer, by method and class of status',
    BOUNDS,
  );
  return { latency, samples: () => latency.samples() };
}

/** A hook: turns of the event loop that a request takes have the name of its route. */
export function nameTurnsOf({ method, routeOptions }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  nameTurns(routeOptions.url === undefined ? 'no route' : `${method} ${routeOptions.url}`, done);
}

/** Call when a request is answered. A successful write is logged at info with its author, everything else at debug. */
export function noteRequest(metrics: RequestMetrics, request: FastifyRequest, reply: FastifyReply, path: string): void {
  const { method, id: requestId } = request;
  const { statusCode: status, elapsedTime: ms } = reply;
  const answered = { method, path, status, ms, requestId };
  if (READS.has(method) || status >= 400) noteAnswer(metrics, answered, request.log);
  else noteWrite(metrics, answered, { ...authorOf(request), ...zonesOf(request) }, request.log);
}

/** Of a successful write; `more`: who it was from. */
export function noteWrite(
  metrics: RequestMetrics,
  answered: Answered,
  more: Readonly<Record<string, string>>,
  log: Pick<FastifyBaseLogger, 'info'>,
): void {
  measure(metrics, answered);
  log.info({ ...lineOf(answered), ...more }, 'write');
}

/** A request that has been answered. */
export interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly requestId: string;
}

interface DebugLog extends Pick<FastifyBaseLogger, 'debug'> {
  /** Not every logger of the framework tells. */
  isLevelEnabled?(level: 'debug'): boolean;
}

/** Of a request that was not a successful write. */
export function noteAnswer(metrics: RequestMetrics, answered: Answered, log: DebugLog): void {
  measure(metrics, answered);
  if (log.isLevelEnabled?.('debug') !== false) log.debug(lineOf(answered), 'request');
}

function measure({ latency }: RequestMetrics, { method, status, ms }: Answered): void {
  // Clients may invent methods, but not labels.
  latency.observe(ms / 1000, labelsOf(METHODS.has(method) ? method : 'other', Math.floor(status / 100)));
}

const labels = new Map<string, { readonly method: string; readonly status: string }[]>();

/** The same object for the same labels. */
function labelsOf(method: string, statusClass: number): { readonly method: string; readonly status: string } {
  let ofMethod = labels.get(method);
  if (!ofMethod) labels.set(method, (ofMethod = []));
  return (ofMethod[statusClass] ??= { method, status: `${statusClass}xx` });
}

/** The fields that are logged. */
function lineOf({ ms, ...rest }: Answered) {
  return { ...rest, ms: Math.round(ms) };
}

export function authorOf({ caller }: Pick<FastifyRequest, 'caller'>): {
  readonly actor?: string;
  readonly key?: string;
} {
  if (!caller) return {};
  const { email, keyId } = caller.actor;
  return { actor: email, ...(keyId !== undefined && { key: keyId }) };
}

/** The identifier of the zone, or of the first of several. */
function zonesOf({ outcome, params }: FastifyRequest): { readonly zone?: string } {
  const zone = outcome?.zones[0]?.id ?? (params as { readonly zone_id?: string } | undefined)?.zone_id;
  return zone === undefined ? {} : { zone };
}
