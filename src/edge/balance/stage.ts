/**
 * The stage between cache and origin for requests to load balancers: it asks the chosen origin, and once another one when that cannot
 * be connected to.
 */
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { Failure, FailureName } from '../error-pages/failures.js';
import type { ChosenOrigin, EdgeRequest, HeaderList, ResponseFlow, ResponseSink, Stage } from '../exchange/exchange.js';

/** Whether the failure happened before the origin received any part of the request. */
export function mayAskAnother({ name }: Failure): boolean {
  return NOT_CONNECTED.has(name);
}

const NOT_CONNECTED: ReadonlySet<FailureName> = new Set([
  'refused',
  'connectTimeout',
  'unreachable',
  'tlsHandshake',
  'originCertificate',
  'originDns',
]);

export function createBalancedStage(origin: Stage<OriginRoute>): Stage<OriginRoute> {
  return (request, route, sink) => {
    if (!request.chosen) return origin(request, route, sink);
    const asking = new Asking(origin, request, sink);
    asking.ask(request.chosen);
    return () => asking.leave();
  };
}

/** A request as the chosen origin gets it. */
export function requestTo({ authority }: ChosenOrigin, request: EdgeRequest): EdgeRequest {
  return authority === undefined ? request : { ...request, authority };
}

class Asking implements ResponseSink {
  private chosen: ChosenOrigin | undefined;
  private hasBegun = false;
  private abort = (): void => {};

  constructor(
    private readonly origin: Stage<OriginRoute>,
    private readonly request: EdgeRequest,
    private readonly sink: ResponseSink,
  ) {}

  ask(chosen: ChosenOrigin): void {
    this.chosen = chosen;
    chosen.begin();
    this.abort = this.origin(requestTo(chosen, this.request), chosen.route, this);
  }

  /** The client has disconnected. */
  leave(): void {
    this.end();
    this.abort();
  }

  onInformation(status: number, headers: HeaderList): void {
    this.hasBegun = true;
    this.sink.onInformation(status, headers);
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    this.hasBegun = true;
    const abort = (): void => {
      this.end();
      flow.abort();
    };
    this.sink.onHead(status, headers, {
      showsItsEnd: flow.showsItsEnd,
      pause: () => flow.pause(),
      resume: () => flow.resume(),
      abort,
    });
  }

  onData(chunk: Buffer): void {
    this.sink.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    this.end();
    this.sink.onEnd(trailers);
  }

  onFailure(failure: Failure): void {
    const { chosen } = this;
    this.end();
    const next = chosen && !this.hasBegun && mayAskAnother(failure) && this.mayRepeat() ? chosen.retry() : undefined;
    if (next) this.ask(next);
    else this.sink.onFailure(failure);
  }

  /** A body can be read only once. */
  private mayRepeat(): boolean {
    const { body } = this.request;
    return body === undefined || !(body.readableDidRead || body.destroyed);
  }

  private end(): void {
    this.chosen?.end();
    this.chosen = undefined;
  }
}
