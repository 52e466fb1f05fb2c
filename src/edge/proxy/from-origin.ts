/** The stage that asks the origin. It streams the response as fast as the client reads it. */
import type { Dispatcher } from 'undici';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { BODY_TOO_LARGE, BODY_TOO_SLOW } from '../listen/body.js';
import type { EdgeRequest, HeaderList, ResponseFlow, ResponseSink, Stage } from './exchange.js';
import { endToEndHeaders, originHeaders } from './headers.js';
import { mayBeRepeated, originFailure } from './origin-failure.js';
import type { OriginPlan, OriginPlanner, Planned } from './origin-plan.js';
import type { OriginPools } from './origin-pools.js';

export interface FromOriginOptions {
  readonly planner: OriginPlanner;
  readonly pools: OriginPools;
  /** This installation's name in `CDN-Loop`. */
  readonly loopId: string;
  /** Called with milliseconds from the request to the first octet of its response. */
  readonly onLatency: (ms: number) => void;
}

/** Idempotent methods (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** Fields of the origin's connection that must not be passed on. */
const GONE = new Error('the client is gone');

export function createOriginStage(options: FromOriginOptions): Stage<OriginRoute> {
  return (request, route, sink) => {
    const attempt = new Attempt(options, request, sink);
    const planned = options.planner.planFor(route, request.scheme);
    if (planned instanceof Promise) void planned.then((result) => attempt.begin(result));
    else attempt.begin(planned);
    return () => attempt.abort();
  };
}

class Attempt implements Dispatcher.DispatchHandler, ResponseFlow {
  showsItsEnd = false;
  private controller: Dispatcher.DispatchController | undefined;
  private plan: OriginPlan | undefined;
  private dispatcher: Dispatcher | undefined;
  private endpoint = 0;
  private tries = 0;
  private hasHead = false;
  private over = false;
  private startedMs = 0;

  constructor(
    private readonly options: FromOriginOptions,
    private readonly request: EdgeRequest,
    private readonly sink: ResponseSink,
  ) {}

  begin(planned: Planned): void {
    if (this.over) return;
    if ('failure' in planned) {
      this.over = true;
      this.sink.onFailure(planned.failure);
      return;
    }
    this.plan = planned.plan;
    this.endpoint = turn++ % planned.plan.endpoints.length;
    this.send(planned.plan);
  }

  private send(plan: OriginPlan): void {
    const { pools, loopId } = this.options;
    const { method, target, body, bodyLength } = this.request;
    const endpoint = plan.endpoints[this.endpoint]!;
    const first = this.tries++ === 0;
    this.dispatcher = first ? pools.poolFor(plan, endpoint) : pools.freshFor(plan, endpoint);
    this.startedMs = performance.now();
    const headers = originHeaders(this.request, loopId);
    // A body without a length is sent in chunks, however the client sent it.
    if (body && bodyLength !== undefined) headers.push('content-length', String(bodyLength));
    try {
      this.dispatcher.dispatch(
        { path: target, method: method as Dispatcher.HttpMethod, headers, body: body ?? null, reset: !first },
        this,
      );
    } catch (error) {
      this.onResponseError(undefined, error as Error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.over) controller.abort(GONE);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.over) return;
    const all = headerList(controller.rawHeaders);
    const headers = endToEndHeaders(all);
    if (status < 200) {
      this.sink.onInformation(status, headers);
      return;
    }
    this.options.onLatency(performance.now() - this.startedMs);
    this.hasHead = true;
    // HTTP/2 marks the last frame.
    this.showsItsEnd = !Array.isArray(controller.rawHeaders) || isDelimited(all);
    this.sink.onHead(status, headers, this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.sink.onData(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.release();
    if (this.over) return;
    this.over = true;
    this.sink.onEnd(endToEndHeaders(headerList(controller.rawTrailers)));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.release();
    if (this.over) return;
    if (this.mayRepeat(error)) {
      const plan = this.plan!;
      this.endpoint = (this.endpoint + 1) % plan.endpoints.length;
      this.send(plan);
      return;
    }
    this.over = true;
    this.sink.onFailure(bodyFailure(error) ?? originFailure(error));
  }

  /** Retries once, if no part of a response has arrived and repeating the request changes nothing. */
  private mayRepeat(error: Error): boolean {
    const { method, body } = this.request;
    return this.tries === 1 && !this.hasHead && body === undefined && IDEMPOTENT.has(method) && mayBeRepeated(error);
  }

  /** A private connection is not kept. */
  private release(): void {
    if (this.tries > 1) void this.dispatcher?.close();
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  abort(): void {
    if (this.over) return;
    this.over = true;
    this.controller?.abort(GONE);
  }
}

/** Any other body ends with its connection (RFC 9112 §6.3). */
function isDelimited(headers: HeaderList): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length' || headers[i] === 'transfer-encoding') return true;
  }
  return false;
}

/** Uses the addresses of an origin in turn. */
let turn = 0;

/** The client's body was at fault: it was too long or too slow, or its length differed from `Content-Length`. */
function bodyFailure(error: Error): Failure | undefined {
  const code = 'code' in error ? error.code : undefined;
  if (code === BODY_TOO_SLOW) return failureOf('timeout', error.message);
  if (code === BODY_TOO_LARGE) return failureOf('tooLarge', error.message);
  return code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' ? failureOf('badRequest', error.message) : undefined;
}

/** Undici gives alternating names and values as octets, and an object for HTTP/2. */
function headerList(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return Object.entries(raw ?? {}).flatMap(([name, value]) => fieldsOf(name, value));
  const list: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    list.push(latin1(raw[i]!).toLowerCase(), latin1(raw[i + 1]!));
  }
  return list;
}

function fieldsOf(name: string, value: string | string[] | undefined): string[] {
  if (name.startsWith(':') || value === undefined) return [];
  return [value].flat().flatMap((text) => [name, text]);
}

function latin1(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1');
}
