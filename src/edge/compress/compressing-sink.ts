/** Compresses a response on its way to the client, piece by piece. What is not worth compressing passes as it is. */
import type { Coding } from '../../http/content-coding.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { bounded } from '../exchange/bounded.js';
import type { EdgeRequest, HeaderList, ResponseFlow, ResponseSink, ServedRoute } from '../exchange/exchange.js';
import {
  type Compressible,
  compressibleOf,
  confirmedHeaders,
  encodedHeaders,
  LEAST_OCTETS,
  withoutDigests,
} from './compressible.js';
import { type Compression, codingFor } from './compression.js';
import { type Encoder, HELD_MS } from './encoders.js';

/** A response of which nothing was sent yet, because it is not known whether it is long enough. */
interface Held {
  readonly status: number;
  readonly headers: HeaderList;
  readonly compressible: Compressible;
  readonly chunks: Buffer[];
  octets: number;
  readonly cancel: () => void;
}

export class CompressingSink implements ResponseSink, ResponseFlow {
  showsItsEnd = true;
  private flow: ResponseFlow | undefined;
  private held: Held | undefined;
  private encoder: Encoder | undefined;
  /** Octets of the body that are still to come, if its length is known. */
  private left = Number.POSITIVE_INFINITY;
  private isPaused = false;
  private isOver = false;
  /** Of a response whose encoder has not given everything yet. */
  private trailers: HeaderList | undefined;
  private hasEncoded = false;

  constructor(
    private readonly sink: ResponseSink,
    private readonly request: EdgeRequest,
    private readonly route: ServedRoute,
    private readonly compression: Compression,
    private readonly onFault: (error: unknown) => void,
  ) {}

  onInformation(status: number, headers: HeaderList): void {
    this.sink.onInformation(status, headers);
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    // Nobody would give back what an encoder takes.
    if (this.isOver) {
      flow.abort();
      return;
    }
    this.flow = flow;
    this.showsItsEnd = flow.showsItsEnd;
    const { sink, request } = this;
    const compressible = compressibleOf(status, headers);
    if (!compressible) {
      sink.onHead(status, status === 304 ? confirmed(request, headers) : headers, flow);
      return;
    }
    const coding = codingFor(request, this.route.settings);
    if (coding === undefined) sink.onHead(status, compressible.plain, flow);
    else if (request.method === 'HEAD') sink.onHead(status, encodedHeaders(compressible.plain, coding), flow);
    else if (compressible.length !== undefined) this.begin(status, compressible, coding);
    else {
      const cancel = this.compression.clock.after(HELD_MS, () => bounded(this.onFault, () => this.release()));
      this.held = { status, headers, compressible, chunks: [], octets: 0, cancel };
    }
  }

  onData(chunk: Buffer): void {
    const { held, encoder } = this;
    if (held) {
      held.chunks.push(chunk);
      held.octets += chunk.length;
      if (held.octets > LEAST_OCTETS) this.release();
    } else if (encoder) this.feed(encoder, chunk);
    else this.sink.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    const { held, encoder, sink } = this;
    if (held) {
      this.held = undefined;
      held.cancel();
      sink.onHead(held.status, held.headers, this.flow!);
      for (const chunk of held.chunks) sink.onData(chunk);
      sink.onEnd(trailers);
    } else if (encoder) {
      this.trailers = trailers.length > 0 ? withoutDigests(trailers) : trailers;
      if (this.hasEncoded) this.finish();
      else encoder.end();
    } else sink.onEnd(trailers);
  }

  onFailure(failure: Failure): void {
    this.drop();
    this.sink.onFailure(failure);
  }

  pause(): void {
    this.isPaused = true;
    this.flow?.pause();
  }

  resume(): void {
    this.isPaused = false;
    if (!this.encoder?.needsDrain) this.flow?.resume();
  }

  abort(): void {
    this.drop();
    this.flow?.abort();
  }

  /** Nobody reads the response any more. */
  drop(): void {
    this.isOver = true;
    this.held?.cancel();
    this.held = undefined;
    this.encoder?.destroy();
  }

  /** Decides about a response whose length is not known. */
  private release(): void {
    const held = this.held!;
    this.held = undefined;
    held.cancel();
    this.begin(held.status, held.compressible, codingFor(this.request, this.route.settings)!);
    for (const chunk of held.chunks) if (!this.isOver) this.onData(chunk);
  }

  private begin(status: number, { plain, length }: Compressible, coding: Coding): void {
    const share = { account: this.route.zone.account, network: this.request.network };
    const guarded = (work: () => void): void => {
      if (!this.isOver) bounded((error) => this.onBroken(error), work);
    };
    this.encoder = this.compression.begin(share, coding, length, {
      onData: (chunk) => guarded(() => this.sink.onData(chunk)),
      onDrain: () => guarded(() => this.isPaused || this.flow!.resume()),
      onEnd: () =>
        guarded(() => {
          this.hasEncoded = true;
          if (this.trailers) this.finish();
        }),
      onError: (error) => guarded(() => this.onBroken(error)),
    });
    if (!this.encoder) {
      this.sink.onHead(status, plain, this.flow!);
      return;
    }
    if (length !== undefined) this.left = length;
    this.sink.onHead(status, encodedHeaders(plain, coding), this);
  }

  private feed(encoder: Encoder, chunk: Buffer): void {
    if (this.isOver) return;
    this.left -= chunk.length;
    // The last piece goes with the end, which saves one trip to the threads.
    if (this.left <= 0) encoder.end(chunk);
    else if (!encoder.write(chunk)) this.flow!.pause();
  }

  private finish(): void {
    this.isOver = true;
    this.sink.onEnd(this.trailers!);
  }

  /** A bug, perhaps one of the sink itself, ends this response. */
  private onBroken(error: unknown): void {
    this.onFault(error);
    this.abort();
    bounded(this.onFault, () => this.sink.onFailure(failureOf('fault', String(error))));
  }
}

function confirmed({ headers: asked, accepted }: EdgeRequest, headers: HeaderList): HeaderList {
  const at = accepted === undefined ? -1 : asked.indexOf('if-none-match');
  return at < 0 || at % 2 === 1 ? headers : confirmedHeaders(headers, asked[at + 1]);
}
