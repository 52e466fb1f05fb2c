/** The stage that asks the origin. It streams the response as fast as the client reads it. */
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { BODY_TOO_LARGE, BODY_TOO_SLOW } from '../listen/body.js';
import { bounded, boundedEvents } from './boundary.js';
import type {
  EdgeRequest,
  HeaderList,
  OriginControl,
  OriginEvents,
  ResponseFlow,
  ResponseSink,
  Stage,
} from './exchange.js';
import { endToEndHeaders, originHeaders } from './headers.js';
import { mayBeRepeated, originFailure, statusFailure } from './origin-failure.js';
import type { OriginPlan, OriginPlanner, Planned } from './origin-plan.js';
import type { OriginPools } from './origin-pools.js';

export interface FromOriginOptions {
  readonly planner: OriginPlanner;
  readonly pools: OriginPools;
  /** This installation's name in `CDN-Loop`. */
  readonly loopId: string;
  /** Called with milliseconds from the request to the first octet of its response. */
  readonly onLatency: (ms: number) => void;
  /** A fault of this program ended an exchange. */
  readonly onFault: (error: unknown) => void;
}

/** Idempotent methods (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

export function createOriginStage(options: FromOriginOptions): Stage<OriginRoute> {
  return (request, route, sink) => {
    const attempt = new Attempt(options, request, sink);
    const planned = options.planner.planFor(route, request.scheme);
    if (planned instanceof Promise) void planned.then((result) => attempt.begin(result)).catch(attempt.onFault);
    else attempt.begin(planned);
    return () => attempt.abort();
  };
}

class Attempt implements OriginEvents, ResponseFlow {
  showsItsEnd = false;
  private control: OriginControl | undefined;
  private plan: OriginPlan | undefined;
  private endpoint = 0;
  private tries = 0;
  private hasHead = false;
  private over = false;
  private startedMs = 0;
  private readonly events: OriginEvents;

  constructor(
    private readonly options: FromOriginOptions,
    private readonly request: EdgeRequest,
    private readonly sink: ResponseSink,
  ) {
    this.events = boundedEvents(this, this.onFault);
  }

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
    const isFresh = this.tries++ > 0;
    this.startedMs = performance.now();
    const headers = originHeaders(this.request, loopId);
    // A body without a length is sent in chunks, however the client sent it.
    if (body && bodyLength !== undefined) headers.push('content-length', String(bodyLength));
    try {
      this.control = pools.send(plan, endpoint, { method, target, headers, body }, isFresh, this.events);
    } catch (error) {
      this.onError(error as Error);
    }
  }

  onInformation(status: number, headers: HeaderList): void {
    if (!this.over) this.sink.onInformation(status, endToEndHeaders(headers));
  }

  onHead(status: number, headers: HeaderList, showsItsEnd: boolean): void {
    if (this.over) return;
    this.options.onLatency(performance.now() - this.startedMs);
    const failure = statusFailure(status);
    if (failure) {
      this.abort();
      this.sink.onFailure(failure);
      return;
    }
    this.hasHead = true;
    this.showsItsEnd = showsItsEnd;
    this.sink.onHead(status, endToEndHeaders(headers), this);
  }

  onData(chunk: Buffer): void {
    if (!this.over) this.sink.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    if (this.over) return;
    this.over = true;
    this.sink.onEnd(endToEndHeaders(trailers));
  }

  onError(error: Error): void {
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

  /** Ends the exchange because of a bug, perhaps one of the sink itself. */
  readonly onFault = (error: unknown): void => {
    this.options.onFault(error);
    this.abort();
    this.over = true;
    bounded(this.options.onFault, () => this.sink.onFailure(failureOf('fault')));
  };

  pause(): void {
    this.control?.pause();
  }

  resume(): void {
    this.control?.resume();
  }

  abort(): void {
    if (this.over) return;
    this.over = true;
    this.control?.abort();
  }
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
