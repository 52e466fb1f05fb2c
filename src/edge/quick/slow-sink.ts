/** Takes what was read ahead of a client that is slow. The head of the response was sent before. */
import type { Failure } from '../error-pages/failures.js';
import type { ResponseSink } from '../exchange/exchange.js';

export interface SlowExchange {
  write(chunk: Buffer): void;
  finish(): void;
  cutFor(failure: Failure): void;
}

export function slowSink(exchange: SlowExchange): ResponseSink {
  return {
    onInformation() {},
    onHead() {},
    onData: (chunk) => exchange.write(chunk),
    onEnd: () => exchange.finish(),
    onFailure: (failure) => exchange.cutFor(failure),
  };
}
