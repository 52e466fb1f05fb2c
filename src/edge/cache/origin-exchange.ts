/** One request to an origin, for the cache: the response head as a promise, the body as a stream or passed on as it arrives. */
import { Readable } from 'node:stream';
import { type Failure, type FailureName, failureOf } from '../error-pages/failures.js';
import {
  type HeaderList,
  headerFields,
  type ResponseFlow,
  type ResponseSink,
  WITHOUT_BODY,
} from '../exchange/exchange.js';
import { type OriginBody, type OriginResponse, OriginSilent } from './origin-response.js';

/**
 * Failures of the network and of the origin's machine. Other failures come from settings and are shown even if a response is
 * stored.
 */
const SILENCE: ReadonlySet<FailureName> = new Set([
  'unreadable',
  'refused',
  'connectTimeout',
  'unreachable',
  'responseTimeout',
  'tlsHandshake',
]);

/** Errors that carry the failure to show. */
interface OriginError extends Error {
  readonly failure?: Failure;
}

function errorOf(failure: Failure): OriginError {
  const text = failure.cause ?? failure.title;
  const error = SILENCE.has(failure.name) ? new OriginSilent(text) : new Error(text);
  return Object.assign(error, { failure });
}

/** The failure to show for a rejected response; undefined for a bug in the program. */
export function failureIn(error: unknown): Failure | undefined {
  const failure = error instanceof Error ? (error as OriginError).failure : undefined;
  return failure ?? (error instanceof OriginSilent ? failureOf('unreadable', error.message) : undefined);
}

/** Takes responses of the 1xx class. */
export type Inform = (status: number, headers: HeaderList) => void;

/** Pieces of a body that may wait for their reader before the origin is slowed down. */
const MOST_EARLY = 4;

export class OriginExchange implements ResponseSink, OriginBody {
  readonly response: Promise<OriginResponse>;
  private settle!: { resolve(response: OriginResponse): void; reject(error: Error): void };
  private flow: ResponseFlow | undefined;
  /** Pieces that arrived before the body had a reader. */
  private early: Buffer[] = [];
  private outcome: { readonly trailers: HeaderList } | { readonly failure: Failure } | undefined;
  private taker: ResponseSink | undefined;
  private stream: Readable | undefined;

  constructor(
    private readonly method: string,
    private readonly inform: Inform,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<OriginResponse>();
    this.response = promise;
    this.settle = { resolve, reject };
  }

  onInformation(status: number, headers: HeaderList): void {
    this.inform(status, headers);
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    this.settle.resolve(this.begin(status, headers, flow));
  }

  /** Returns the response at once, for callers that do not wait for `response`. */
  begin(status: number, headers: HeaderList, flow: ResponseFlow): OriginResponse {
    this.flow = flow;
    // These responses have no content (RFC 9110 §6.4.1).
    const hasBody = this.method !== 'HEAD' && !WITHOUT_BODY.has(status);
    const body = hasBody ? this : undefined;
    return { status, fields: headerFields(headers), body, showsItsEnd: flow.showsItsEnd };
  }

  onData(chunk: Buffer): void {
    if (this.taker) this.taker.onData(chunk);
    else if (this.stream) this.push(chunk);
    else {
      this.early.push(chunk);
      if (this.early.length === MOST_EARLY) this.flow!.pause();
    }
  }

  onEnd(trailers: HeaderList): void {
    this.outcome = { trailers };
    this.taker?.onEnd(trailers);
    this.stream?.push(null);
  }

  onFailure(failure: Failure): void {
    this.outcome = { failure };
    const error = errorOf(failure);
    this.settle.reject(error);
    this.taker?.onFailure(failure);
    this.stream?.destroy(error);
  }

  /** Call when nobody waits for the response any more. Has no effect once its header fields have arrived. */
  abandon(): void {
    this.settle.reject(errorOf(failureOf('badRequest', 'the client has left')));
  }

  /** Passes the body and its trailers on as they arrive. */
  passTo(status: number, headers: HeaderList, taker: ResponseSink): void {
    taker.onHead(status, headers, this.flow!);
    this.taker = taker;
    const { early } = this;
    this.early = [];
    for (const chunk of early) taker.onData(chunk);
    if (this.outcome === undefined) {
      if (early.length >= MOST_EARLY) this.flow!.resume();
    } else if ('failure' in this.outcome) taker.onFailure(this.outcome.failure);
    else taker.onEnd(this.outcome.trailers);
  }

  open(): Readable {
    const stream = new Readable({
      read: () => this.flow!.resume(),
      destroy: (error, done) => {
        if (!this.outcome) this.flow!.abort();
        done(error);
      },
    });
    this.stream = stream;
    for (const chunk of this.early) this.push(chunk);
    this.early = [];
    if (this.outcome === undefined) return stream;
    if ('failure' in this.outcome) stream.destroy(errorOf(this.outcome.failure));
    else stream.push(null);
    return stream;
  }

  discard(): void {
    if (!this.outcome) this.flow?.abort();
    this.early = [];
  }

  private push(chunk: Buffer): void {
    if (!this.stream!.push(chunk)) this.flow!.pause();
  }
}
