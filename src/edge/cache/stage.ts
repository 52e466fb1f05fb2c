/** The stage between route and origin: it answers from the cache or lets the origin answer. */
import { Readable } from 'node:stream';
import { createBodyPace, type Pace } from '../../base/pace.js';
import type { HeaderFields } from '../../http/fields.js';
import { CompressingSink } from '../compress/compressing-sink.js';
import { type Compression, codingFor } from '../compress/compression.js';
import { failureOf } from '../error-pages/failures.js';
import {
  type EdgeRequest,
  type HeaderList,
  headerFields,
  headerList,
  type ResponseFlow,
  type ResponseSink,
  type ServedRoute,
  type Stage,
} from '../exchange/exchange.js';
import { type Answer, PIECE } from './answer.js';
import type { EdgeCache } from './cache.js';
import type { CacheRequest, Forward, SentRequest } from './cache-state.js';
import type { CacheResult } from './cache-status.js';
import { failureIn, OriginExchange } from './origin-exchange.js';
import type { Passage } from './passage.js';

/** Pieces of bodies in memory that are written in a turn of the event loop. */
const PIECES_A_TURN = 16;

export interface CacheStageOptions {
  readonly cache: EdgeCache;
  readonly origin: Stage;
  readonly compression: Compression;
  readonly onResult: (result: CacheResult) => void;
  /** Called with errors that are bugs in the program. */
  readonly onFault: (error: unknown) => void;
}

/** The stage, and the part of it that passes a response on as it arrives. */
export type CacheStage = Stage & {
  readonly pass: (asking: Asking, passage: Passage, sink: ResponseSink, origin: Stage) => () => void;
};

interface Asking {
  readonly request: EdgeRequest;
  readonly route: ServedRoute;
  /** The result of {@link cacheRequestOf}. */
  readonly asked: CacheRequest;
}

export function createCacheStage({ cache, origin, compression, onResult, onFault }: CacheStageOptions): CacheStage {
  const pace = createBodyPace(PIECES_A_TURN);
  /** What delivers answers to a client; `passing`: those that are not stored. */
  const deliverer = ({ request, route, asked }: Asking, sink: ResponseSink) => {
    const passing = asked.policy.compresses
      ? new CompressingSink(sink, request, route, compression, onFault)
      : undefined;
    const delivery = new Delivery(sink, passing ?? sink, {
      pace,
      account: asked.account,
      client: request.network,
      onFault,
    });
    const send = (answer: Answer): void => {
      const ready = cache.encoded(asked, request.network, answer);
      if (ready instanceof Promise) delivery.await(answer, ready);
      else delivery.deliver(ready);
    };
    return { passing, delivery, send };
  };
  const pass: CacheStage['pass'] = (asking, passage, sink, from) => {
    const { passing, delivery, send } = deliverer(asking, sink);
    const end = { sink: passing ?? sink, onResult, deliver: send };
    const abort = from(asking.request, asking.route, passage.leadTo({ ...end, fail: (error) => delivery.fail(error) }));
    return () => {
      passing?.drop();
      if (passage.leave()) delivery.leave();
      else abort();
    };
  };
  const stage: Stage = (request, route, sink) => {
    const asked = cacheRequestOf(request, route);
    const found = cache.look(asked);
    if (found && !('key' in found) && !found.encodable && isWhole(found)) {
      onResult(found.result);
      deliverWhole(found, sink);
      return leaveNothing;
    }
    const passage = found && 'key' in found ? cache.pass(found) : undefined;
    if (passage) return pass({ request, route, asked }, passage, sink, origin);
    const { passing, delivery, send } = deliverer({ request, route, asked }, sink);
    const deliver = (answer: Answer): void => {
      onResult(answer.result);
      send(answer);
    };
    const sent: SentRequest[] = [];
    const forward: Forward = (fields) => {
      const forwarded = fields === asked.fields ? request : { ...request, headers: headerList(fields) };
      const exchange = new OriginExchange(request.method, (status, headers) => delivery.inform(status, headers));
      const abort = origin(forwarded, route, exchange);
      const stop = (): void => {
        abort();
        exchange.abandon();
      };
      sent.push({ response: exchange.response, stop });
      return sent.at(-1)!;
    };
    const answer = cache.serve(asked, forward, found);
    if (answer instanceof Promise) answer.then(deliver, (error: unknown) => delivery.fail(error));
    else deliver(answer);
    return () => {
      passing?.drop();
      // Once a response has begun, the last client that reads it ends it.
      if (!delivery.leave() && !cache.leave(forward)) for (const { stop } of sent) stop();
    };
  };
  return Object.assign(stage, { pass });
}

const leaveNothing = (): void => {};

export function cacheRequestOf(request: EdgeRequest, { zone, settings }: ServedRoute): CacheRequest {
  const coding = codingFor(request, settings);
  const { scheme, host, authority, target, method, headers, body } = request;
  return {
    zone: zone.seq,
    account: zone.account,
    scheme,
    host,
    authority,
    target,
    method,
    fields: headerFields(headers),
    hasBody: body !== undefined,
    coding,
    policy: {
      level: settings.cache_level,
      browserTtlS: settings.browser_cache_ttl,
      developmentMode: settings.development_mode === 'on',
      compresses: settings.compression === 'on',
    },
  };
}

const NO_FLOW: ResponseFlow = { showsItsEnd: true, pause() {}, resume() {}, abort() {} };

interface DeliveryOptions {
  readonly pace: Pace;
  readonly account: number;
  readonly client: string;
  readonly onFault: (error: unknown) => void;
}

/** An answer whose body is complete. */
interface WholeAnswer extends Pick<Answer, 'status' | 'fields'> {
  readonly headers?: HeaderList | undefined;
  readonly body: Uint8Array | undefined;
}

function isWhole(answer: Answer): answer is Answer & WholeAnswer {
  return answer.body === undefined || answer.body instanceof Uint8Array;
}

function deliverWhole({ status, fields, headers, body }: WholeAnswer, sink: ResponseSink): void {
  sink.onHead(status, headers ?? headerList(fields), NO_FLOW);
  if (body) sink.onData(body as Buffer);
  sink.onEnd([]);
}

/** Sends an answer to a client, which may disconnect at any time. */
class Delivery {
  private hasLeft = false;
  private hasBegun = false;
  private stop: (() => void) | undefined;

  constructor(
    private readonly sink: ResponseSink,
    /** For what was not stored. */
    private readonly passing: ResponseSink,
    private readonly options: DeliveryOptions,
  ) {}

  /** Of the response that this client waits for; once it is answered, of others'. */
  inform(status: number, headers: HeaderList): void {
    if (!this.hasBegun && !this.hasLeft) this.sink.onInformation(status, headers);
  }

  /** The answer will have another form. */
  await({ body }: Answer, ready: Promise<Answer>): void {
    this.hasBegun = true;
    if (body instanceof Readable) this.stop = () => body.on('error', () => {}).destroy();
    ready.then(
      (answer) => this.deliver(answer),
      (error: unknown) => this.fail(error),
    );
  }

  deliver({ status, fields, headers, body, isPassed }: Answer): void {
    const sink = isPassed ? this.passing : this.sink;
    this.hasBegun = true;
    if (this.hasLeft) {
      if (body instanceof Readable) body.on('error', () => {}).destroy();
      else if (body instanceof OriginExchange) body.discard();
    } else if (body instanceof OriginExchange) {
      this.stop = () => body.discard();
      body.passTo(status, headerList(fields), sink);
    } else if (body instanceof Readable) this.stream(status, fields, body);
    else deliverWhole({ status, fields, headers, body: body as Uint8Array | undefined }, sink);
  }

  fail(error: unknown): void {
    this.hasBegun = true;
    const known = failureIn(error);
    if (!known) this.options.onFault(error);
    if (!this.hasLeft) this.sink.onFailure(known ?? failureOf('fault', String(error)));
  }

  /** True if the answer has begun. */
  leave(): boolean {
    this.hasLeft = true;
    this.stop?.();
    return this.hasBegun;
  }

  private stream(status: number, fields: HeaderFields, body: Readable): void {
    const { sink } = this;
    let isOver = false;
    this.stop = () => {
      isOver = true;
      body.destroy();
    };
    body.on('error', (error) => {
      if (!isOver) this.fail(error);
      isOver = true;
    });
    const flow = pacedFlow(body, this.options, this.stop, (chunk) => sink.onData(chunk));
    sink.onHead(status, headerList(fields), flow);
    flow.begin();
    body.on('end', () => {
      if (!isOver) sink.onEnd([]);
      isOver = true;
    });
  }
}

/** Reads a body piece by piece, and waits for its turn between them. */
function pacedFlow(
  body: Readable,
  { pace, account, client }: DeliveryOptions,
  abort: () => void,
  onData: (chunk: Buffer) => void,
): ResponseFlow & { begin(): void } {
  let isPaused = false;
  let isWaiting = false;
  let octets = 0;
  const read = (): void => {
    isWaiting = false;
    octets = 0;
    if (!isPaused && !body.destroyed) body.resume();
  };
  const wait = (): void => {
    isWaiting = true;
    body.pause();
    pace.wait(account, client, read);
  };
  return {
    showsItsEnd: true,
    abort,
    begin() {
      body.on('data', (chunk: Buffer) => {
        onData(chunk);
        octets += chunk.length;
        if (octets >= PIECE && !isWaiting) wait();
      });
      wait();
    },
    pause() {
      isPaused = true;
      body.pause();
    },
    resume() {
      isPaused = false;
      if (!isWaiting) body.resume();
    },
  };
}
