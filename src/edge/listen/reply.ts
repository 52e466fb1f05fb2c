/** Passes a response on to a client, as fast as the client reads it, and reports what became of it. */
import { TooMuchWork } from '../../expressions/work.js';
import type { Failure } from '../error-pages/failures.js';
import { failurePage } from '../error-pages/page.js';
import type { ClientEvents, ClientResponse } from '../exchange/client-response.js';
import { firstValue, type HeaderList, type ResponseFlow, type ResponseSink } from '../exchange/exchange.js';
import type { Sending, Stalls, Taker } from '../exchange/stalls.js';
import { tooMuchWork } from '../rules/rules.js';

/** The outcome of a request, for log and metrics. */
export interface Outcome {
  /** 0 if no response was started. */
  readonly status: number;
  readonly octets: number;
  readonly failure: Failure | undefined;
  /** Whether the whole response was passed to the client's connection. */
  readonly complete: boolean;
}

export interface ReplyOptions {
  readonly ray: string;
  readonly host: string;
  /** The `Accept` field of the request. */
  readonly accept: () => string | undefined;
  /** Whether failures show cause and remedy. */
  readonly details: boolean;
  readonly onEnd: (outcome: Outcome) => void;
  /** Notices clients that take too little. */
  readonly stalls: Stalls;
  /** A fault of this program ended the exchange. */
  readonly onFault: (error: unknown) => void;
}

const NONE: HeaderList = [];

export class Reply implements ResponseSink, ClientEvents, Sending {
  private flow: ResponseFlow | undefined;
  private status = 0;
  private octets = 0;
  /** Octets of the body that the response promised and that were not sent yet, where they show its end. */
  private promised = -1;
  private failure: Failure | undefined;
  private over = false;
  private isClosed = false;
  private isWatched = false;
  private abortOrigin: (() => void) | undefined;
  /** Fields added to every response of an origin. */
  private extra: HeaderList = NONE;
  changeFields: ((status: number, headers: HeaderList) => HeaderList) | undefined;

  constructor(
    private readonly response: ClientResponse,
    private readonly options: ReplyOptions,
  ) {
    response.watch(this);
  }

  /** Called when the client disconnects before the end. */
  set onGone(abort: () => void) {
    this.abortOrigin = abort;
    if (this.response.isGone) abort();
  }

  set extraHeaders(headers: HeaderList) {
    this.extra = headers;
  }

  get taker(): Taker {
    return this.response.taker;
  }

  /** The client takes too little. */
  cut(): void {
    this.response.cut();
  }

  drained(): void {
    this.unwatch();
    this.flow?.resume();
  }

  closed(isSent: boolean): void {
    this.isClosed = true;
    this.unwatch();
    if (!this.over) this.abortOrigin?.();
    this.over = true;
    const { status, octets, failure } = this;
    this.options.onEnd({ status, octets, failure, complete: isSent });
  }

  onInformation(status: number, headers: HeaderList): void {
    if (this.status !== 0 || this.over) return;
    try {
      this.response.inform(status, headers);
    } catch (error) {
      this.onFault(error);
    }
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    if (this.over) {
      flow.abort();
      return;
    }
    this.flow = flow;
    this.status = status;
    if (this.response.endsAtLength) this.promised = contentLengthOf(headers);
    try {
      const own = ['cf-ray', this.options.ray];
      if (!this.changeFields) {
        this.response.head(status, headers, [...this.extra, ...own]);
        return;
      }
      const changed = this.changed(status, [...headers, ...this.extra]);
      if (changed) this.response.head(status, changed, own);
      else this.refuse(flow);
    } catch (error) {
      this.onFault(error);
    }
  }

  /** Undefined: the rules take too long for this response. */
  private changed(status: number, headers: HeaderList): HeaderList | undefined {
    try {
      return this.changeFields ? this.changeFields(status, headers) : headers;
    } catch (error) {
      if (error instanceof TooMuchWork) return undefined;
      throw error;
    }
  }

  /** Fields that the rules would have removed must not reach the client. */
  private refuse(flow: ResponseFlow): void {
    flow.abort();
    this.status = 0;
    this.changeFields = undefined;
    this.onFailure(tooMuchWork());
  }

  onData(chunk: Buffer): void {
    if (this.over) return;
    this.octets += chunk.length;
    if (this.promised >= 0) {
      this.promised -= chunk.length;
      // One write less for most responses.
      if (this.promised === 0) {
        this.finish(chunk, NONE);
        return;
      }
    }
    try {
      if (this.response.write(chunk)) return;
      this.watch();
      this.flow?.pause();
    } catch (error) {
      this.onFault(error);
    }
  }

  onEnd(trailers: HeaderList): void {
    if (!this.over) this.finish(undefined, trailers);
  }

  private finish(chunk: Buffer | undefined, trailers: HeaderList): void {
    this.over = true;
    try {
      this.response.end(chunk, trailers);
      this.watch();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** A started response cannot be replaced. It is cut off, so that the client notices that it is incomplete. */
  onFailure(failure: Failure): void {
    if (this.over) return;
    this.failure = failure;
    if (this.status !== 0) {
      this.over = true;
      this.response.cut();
      return;
    }
    const { ray, host, accept, details } = this.options;
    const page = failurePage(failure, { ray, host, accept: accept(), details });
    this.whole(page.status, page.headers, page.body);
  }

  /** Sends a complete response that the edge itself made. */
  whole(status: number, headers: HeaderList, body: Buffer): void {
    this.status = status;
    this.octets = body.length;
    this.over = true;
    try {
      this.response.whole(status, this.changed(status, headers) ?? headers, body);
      this.watch();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** From now until the client has taken what was sent. */
  private watch(): void {
    if (this.isWatched || this.isClosed) return;
    this.isWatched = true;
    this.options.stalls.watch(this);
  }

  private unwatch(): void {
    if (!this.isWatched) return;
    this.isWatched = false;
    this.options.stalls.forget(this);
  }

  /** Ends this exchange, and no other, because of a bug. */
  onFault(error: unknown): void {
    this.options.onFault(error);
    const isBegun = this.over;
    this.over = true;
    if (!isBegun) this.abortOrigin?.();
    this.response.cut();
  }
}

/** -1 if there is none. */
function contentLengthOf(headers: HeaderList): number {
  return Number(firstValue(headers, 'content-length') ?? -1);
}
