/** The stage that asks the origin. It streams the response as fast as the client reads it, or reads it ahead. */

import { type Clock, steadyMs } from '../../base/clock.js';
import type { MemoryShares } from '../../base/memory-shares.js';
import type { Leave, TurnHolder } from '../../base/turns.js';
import type { BucketRoute, OriginRoute } from '../../hostnames/routing/find-route.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { BODY_TOO_LARGE, BODY_TOO_SLOW } from '../exchange/body.js';
import { bounded } from '../exchange/bounded.js';
import type {
  EdgeRequest,
  HeaderList,
  OriginControl,
  OriginEvents,
  ResponseSink,
  Stage,
} from '../exchange/exchange.js';
import { isInterim, mayBeRepeated, originFailure, statusFailure } from '../exchange/origin-failure.js';
import { BoundedEvents } from './boundary.js';
import { endToEndHeaders, type HeaderRules, originHeaders } from './headers.js';
import { type OriginPlaces, type OriginShare, refusal } from './origin-places.js';
import type { OriginPlan, OriginPlanner, Planned } from './origin-plan.js';
import type { OriginPools } from './origin-pools.js';
import { ReadAhead } from './read-ahead.js';

export interface FromOriginOptions {
  readonly planner: OriginPlanner;
  readonly pools: OriginPools;
  readonly places: OriginPlaces;
  /** For responses that are read ahead of their clients. */
  readonly memory: MemoryShares;
  readonly rules: HeaderRules;
  /** Answers for an origin that is a name of a bucket. */
  readonly bucket: Stage<BucketRoute>;
  readonly clock: Clock;
  /** Called with milliseconds from the request to the first octet of its response. */
  readonly onLatency: (ms: number) => void;
  /** A fault of this program ended an exchange. */
  readonly onFault: (error: unknown) => void;
}

/** Idempotent methods (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

export function createOriginStage(options: FromOriginOptions): Stage<OriginRoute> {
  return (request, route, sink) => {
    const { seq: zone, account } = route.zone;
    const attempt = new Attempt(options, request, { account, zone, network: request.network }, sink);
    let end = (): void => attempt.abort();
    let isGone = false;
    const begin = (planned: Planned): void => {
      if (isGone || !('bucket' in planned)) attempt.begin(planned);
      else end = options.bucket(request, planned.bucket, sink);
    };
    const planned = options.planner.planFor(route, request.scheme);
    if (planned instanceof Promise) void planned.then(begin).catch(attempt.onFault);
    else begin(planned);
    return () => {
      isGone = true;
      end();
    };
  };
}

/** An exchange with an origin that was begun without the stage. */
export interface BegunExchange {
  readonly plan: OriginPlan;
  readonly endpoint: number;
  readonly leave: Leave;
  /** When it was sent, steady milliseconds. */
  readonly startedMs: number;
  /** From now on, these events report what happens. */
  lead(events: OriginEvents): OriginControl;
}

/** The stage for the rest of an exchange. `onTaken` gets the new holder of its place. */
export function createRestStage(
  options: FromOriginOptions,
  begun: BegunExchange,
  onTaken: (holder: TurnHolder) => void,
): Stage {
  return (request, { zone: { seq: zone, account } }, sink) => {
    const attempt = new Attempt(options, request, { account, zone, network: request.network }, sink);
    onTaken(attempt);
    attempt.adopt(begun);
    return () => attempt.abort();
  };
}

class Attempt implements OriginEvents, OriginControl, TurnHolder {
  private control: OriginControl | undefined;
  private plan: OriginPlan | undefined;
  private endpoint = 0;
  private tries = 0;
  private hasHead = false;
  /** Nothing more comes from the origin. */
  private over = false;
  private startedMs = 0;
  private stopWaiting: (() => void) | undefined;
  private leave: Leave | undefined;
  private readonly ahead: ReadAhead;
  private readonly events: OriginEvents;

  constructor(
    private readonly options: FromOriginOptions,
    private readonly request: EdgeRequest,
    private readonly share: OriginShare,
    private readonly sink: ResponseSink,
  ) {
    this.ahead = new ReadAhead(sink, this, { memory: options.memory, account: share.account });
    this.events = new BoundedEvents(this, this.onFault);
  }

  begin(planned: Planned): void {
    if (this.over) return;
    if ('bucket' in planned) return;
    if ('failure' in planned) {
      this.fail(planned.failure);
      return;
    }
    this.plan = planned.plan;
    this.endpoint = nextEndpoint(planned.plan);
    this.leave = this.options.places.enterNow(this.share, this);
    if (this.leave) this.send(planned.plan);
    else this.wait(planned.plan);
  }

  /** Goes on with what was begun. */
  adopt({ plan, endpoint, leave, startedMs, lead }: BegunExchange): void {
    this.plan = plan;
    this.endpoint = endpoint;
    this.leave = leave;
    this.startedMs = startedMs;
    this.tries = 1;
    this.control = lead(this.events);
  }

  private wait(plan: OriginPlan): void {
    this.stopWaiting = this.options.places.ask(this.share, this, (place) => {
      this.stopWaiting = undefined;
      if (typeof place !== 'function') this.fail(place);
      else if (this.over) place();
      else {
        this.leave = place;
        // In the call of another exchange, which has ended.
        bounded(this.onFault, () => this.send(plan));
      }
    });
  }

  private send(plan: OriginPlan): void {
    const { pools, rules } = this.options;
    const { method, target, body, bodyLength } = this.request;
    const endpoint = plan.endpoints[this.endpoint]!;
    const isFresh = this.tries++ > 0;
    this.startedMs = steadyMs(this.options.clock);
    const { headers, more } = originHeaders(this.request, rules);
    // A body without a length is sent in chunks, however the client sent it.
    if (body && bodyLength !== undefined) more.push('content-length', String(bodyLength));
    try {
      const asked = { method, target, headers, more, body };
      this.control = pools.send(this.share, plan, endpoint, asked, isFresh, this.events);
    } catch (error) {
      this.onError(error as Error);
    }
  }

  onInformation(status: number, headers: HeaderList): void {
    if (this.over) return;
    if (isInterim(status)) this.sink.onInformation(status, endToEndHeaders(headers));
    // It is not a response at all.
    else this.onHead(status, headers, false);
  }

  onHead(status: number, headers: HeaderList, showsItsEnd: boolean): void {
    if (this.over) return;
    this.options.onLatency(steadyMs(this.options.clock) - this.startedMs);
    const failure = statusFailure(status);
    if (failure) {
      this.abort();
      this.sink.onFailure(failure);
      return;
    }
    this.hasHead = true;
    this.ahead.onHead(status, endToEndHeaders(headers), showsItsEnd);
  }

  onData(chunk: Buffer): void {
    if (!this.over) this.ahead.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    if (this.over) return;
    this.finish();
    this.ahead.onEnd(endToEndHeaders(trailers));
  }

  onError(error: Error): void {
    if (this.over) return;
    if (this.mayRepeat(error)) {
      const plan = this.plan!;
      this.endpoint = (this.endpoint + 1) % plan.endpoints.length;
      this.send(plan);
      return;
    }
    this.finish();
    this.ahead.onFailure(bodyFailure(error) ?? originFailure(error));
  }

  /** Ends the exchange, because others need its place more. */
  giveBack(): void {
    if (this.over) return;
    this.abort();
    bounded(this.options.onFault, () => this.sink.onFailure(refusal('this client or this zone')));
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
    bounded(this.options.onFault, () => this.sink.onFailure(failureOf('fault')));
  };

  pause(): void {
    this.control?.pause();
  }

  resume(): void {
    this.control?.resume();
  }

  abort(): void {
    this.ahead.drop();
    if (this.over) return;
    this.finish();
    this.stopWaiting?.();
    this.control?.abort();
  }

  private fail(failure: Failure): void {
    if (this.over) return;
    this.finish();
    this.sink.onFailure(failure);
  }

  private finish(): void {
    this.over = true;
    this.leave?.();
  }
}

/** Uses the addresses of an origin in turn. */
export function nextEndpoint({ endpoints }: OriginPlan): number {
  return turn++ % endpoints.length;
}

let turn = 0;

/** The client's body was at fault: it was too long or too slow, or its length differed from `Content-Length`. */
function bodyFailure(error: Error): Failure | undefined {
  const code = 'code' in error ? error.code : undefined;
  if (code === BODY_TOO_SLOW) return failureOf('timeout', error.message);
  if (code === BODY_TOO_LARGE) return failureOf('tooLarge', error.message);
  return code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' ? failureOf('badRequest', error.message) : undefined;
}
