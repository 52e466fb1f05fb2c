/**
 * Handles a response that is probably for its request alone. If its head does not allow shared caches to store it, it is passed
 * on as it arrives, with its fields as a list. Otherwise it is received like any response that may be stored.
 */
import type { Row } from '../../base/lists/row.js';
import type { Failure } from '../error-pages/failures.js';
import { type HeaderList, headerFields, type ResponseFlow, type ResponseSink } from '../exchange/exchange.js';
import { type Answer, passedHeaders } from './answer.js';
import type { CacheState, Lookup } from './cache-state.js';
import type { CacheResult } from './cache-status.js';
import { DIRECTIVE_FIELDS, directivesOf } from './directives.js';
import { type OpenFill, openFill, receive, type Sent } from './fill-cache.js';
import type { OpenPassage } from './open-passages.js';
import { OriginExchange } from './origin-exchange.js';
import { allowsSharedCaches } from './storing.js';

/** The client's side. */
export interface PassageEnd {
  readonly sink: ResponseSink;
  onResult(result: CacheResult): void;
  /** Answers with a response that may be stored. */
  deliver(answer: Answer): void;
  fail(error: unknown): void;
}

/** What the cache says of a response that is passed on. */
export const PASSED = 'DYNAMIC' satisfies CacheResult;

export class Passage implements ResponseSink, OpenPassage, Sent {
  readonly key: string;
  readonly purgesSeen: number;
  isOutdated = false;
  row: Row<OpenPassage> | undefined;
  before: OpenPassage | undefined;
  after: OpenPassage | undefined;
  /** Since the response is received to be stored. */
  private open: OpenFill | undefined;
  private taker: ResponseSink | undefined;
  private end!: PassageEnd;
  private hasLeft = false;
  private isOver = false;

  constructor(
    private readonly cache: CacheState,
    private readonly lookup: Lookup,
    readonly sentMs: number,
  ) {
    this.key = lookup.key;
    this.purgesSeen = cache.purged.lastSeq();
    cache.passages.add(lookup.request.zone, this);
  }

  /** Call before the response begins. */
  leadTo(end: PassageEnd): this {
    this.end = end;
    return this;
  }

  /** The client has left. Returns false if nobody else needs the response. */
  leave(): boolean {
    this.hasLeft = true;
    this.close();
    return this.isOver || this.isDelivered;
  }

  onInformation(status: number, headers: HeaderList): void {
    if (!this.hasLeft) this.end.sink.onInformation(status, headers);
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    if (this.hasLeft) {
      flow.abort();
      return;
    }
    const { sink } = this.end;
    try {
      const passed = passedOn(status, headers);
      if (!passed) {
        this.receive(status, headers, flow);
        return;
      }
      this.close();
      this.taker = sink;
      this.end.onResult(PASSED);
      sink.onHead(status, passed, flow);
    } catch (error) {
      this.isOver = true;
      this.close();
      this.open?.end();
      flow.abort();
      this.end.fail(error);
    }
  }

  onData(chunk: Buffer): void {
    this.taker?.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    this.isOver = true;
    this.taker?.onEnd(trailers);
  }

  onFailure(failure: Failure): void {
    this.isOver = true;
    if (this.taker) this.taker.onFailure(failure);
    else if (!this.hasLeft) {
      this.close();
      this.end.sink.onFailure(failure);
    }
  }

  /** The response will not be stored, or others find it as that of a fill. */
  private close(): void {
    this.cache.passages.delete(this);
  }

  private get isDelivered(): boolean {
    return this.taker !== undefined && this.taker !== this.end.sink;
  }

  private receive(status: number, headers: HeaderList, flow: ResponseFlow): void {
    const exchange = new OriginExchange(this.lookup.request.method, () => {});
    this.taker = exchange;
    this.open = openFill(this.cache, this.lookup, false, this);
    this.close();
    const answer = receive(this.cache, this.lookup, this.open, exchange.begin(status, headers, flow));
    this.end.onResult(answer.result);
    this.end.deliver(answer);
  }
}

/** Cached for frozen field lists, which repeat. */
const known = new WeakMap<HeaderList, { readonly status: number; readonly passed: HeaderList }>();

/** The fields for the client; undefined if all fields must be judged before the response is passed on. */
export function passedOn(status: number, headers: HeaderList): HeaderList | undefined {
  const isFrozen = Object.isFrozen(headers);
  const before = isFrozen ? known.get(headers) : undefined;
  if (before?.status === status) return before.passed;
  if (isForAll(headers)) return undefined;
  const passed = passedHeaders(headers, { result: PASSED, forwardedStatus: status });
  if (passed && isFrozen) known.set(headers, { status, passed: Object.freeze(passed) });
  return passed;
}

/** Whether the response allows shared caches to store it. */
function isForAll(headers: HeaderList): boolean {
  const said: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (DIRECTIVE_FIELDS.has(headers[i]!)) said.push(headers[i]!, headers[i + 1]!);
  }
  return said.length > 0 && allowsSharedCaches(directivesOf(headerFields(said)));
}
