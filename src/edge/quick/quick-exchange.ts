/**
 * The exchanges of a client with origins on the short way, one after another in one object. As soon as anything is not usual, the general
 * way goes on with what was begun.
 */
import type { Socket } from 'node:net';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { TurnHolder } from '../../base/turns.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { CacheRequest } from '../cache/cache-state.js';
import type { Passage } from '../cache/passage.js';
import type { CacheStage } from '../cache/stage.js';
import type { Failure } from '../error-pages/failures.js';
import { bounded } from '../exchange/bounded.js';
import type { ClientResponse } from '../exchange/client-response.js';
import type { EdgeRequest, HeaderList, OriginControl, OriginEvents } from '../exchange/exchange.js';
import { originFailure } from '../exchange/origin-failure.js';
import type { Sending, Stalls, Taker } from '../exchange/stalls.js';
import {
  type ConnectionExchange,
  Exchange,
  type ExchangeEvents,
  PausableExchange,
  type Reader,
} from '../http1/origin-connection.js';
import type { ClientSide } from '../listen/client-side.js';
import type { Outcome } from '../listen/reply.js';
import { type BegunExchange, createRestStage, type FromOriginOptions, nextEndpoint } from '../proxy/from-origin.js';
import { type ExchangePlace, type OriginPlaceEvents, type OriginShare, refusal } from '../proxy/origin-places.js';
import type { OriginPlan } from '../proxy/origin-plan.js';
import { ReadAhead } from '../proxy/read-ahead.js';
import { OriginHead } from './origin-head.js';
import type { Outlet, OutletEvents } from './outlets.js';
import { RESULT, responseHead } from './response-head.js';
import { slowSink } from './slow-sink.js';

export interface PassOptions {
  readonly origins: FromOriginOptions;
  readonly pass: CacheStage['pass'];
  readonly stalls: Stalls;
  readonly clock: Clock;
  readonly onResult: (result: typeof RESULT) => void;
}

/** What is known of a request before its origin is asked. */
export interface Passing {
  readonly request: EdgeRequest;
  readonly route: OriginRoute;
  readonly asked: CacheRequest;
  readonly passage: Passage;
  /** To an origin over plain HTTP. */
  readonly plan: OriginPlan;
}

const NONE: HeaderList = [];

/** One exchange after another for the same client, until one is spent. */
export class QuickExchange
  extends PausableExchange
  implements
    OutletEvents,
    Sending,
    TurnHolder,
    OriginPlaceEvents,
    ConnectionExchange,
    ExchangeEvents,
    Reader,
    OriginControl,
    Outcome
{
  // What its connection to the origin asks.
  readonly isFresh = false;
  readonly trailers = NONE;
  readonly reader = this;
  readonly events = this;
  isReusable = false;
  hasMore = false;
  isDone = false;
  keepAliveS: number | undefined;

  /** Something still knows it, or was not usual: it cannot begin another exchange. */
  isSpent = false;
  /** Of the response; 0: its head was not sent yet. */
  status = 0;
  octets = 0;
  failure: Failure | undefined;
  complete = false;

  private passing: Passing | undefined;
  private endpoint = 0;
  private startedMs = 0;
  /** Undefined: the general way has it. */
  private place: ExchangePlace | undefined;
  private share: OriginShare | undefined;
  /** Octets of the body that have not come. */
  private missing = 0;
  /** For a client that is slow. */
  private ahead: ReadAhead | undefined;
  private isWritten = false;
  private isOver = false;
  private holder: TurnHolder | undefined;
  private readonly head = new OriginHead();

  constructor(
    private readonly options: PassOptions,
    private readonly client: ClientSide,
    private readonly outlet: Outlet,
  ) {
    super();
    this.place = options.origins.places.placeFor(this, this);
  }

  get hasHead(): boolean {
    return this.status !== 0;
  }

  get isUnwanted(): boolean {
    return this.isOver;
  }

  get taker(): Taker {
    return this.outlet.taker;
  }

  begin(passing: Passing): void {
    this.reset(passing);
    const { startedMs } = this.client;
    const share = this.shareOf(passing);
    this.endpoint = nextEndpoint(passing.plan);
    const place = this.place!;
    if (place.take(share)) this.onPlace(startedMs);
    else place.wait(share, startedMs);
  }

  private reset(passing: Passing): void {
    this.passing = passing;
    this.isReusable = false;
    this.hasMore = false;
    this.isDone = false;
    this.isPaused = false;
    this.keepAliveS = undefined;
    this.status = 0;
    this.octets = 0;
    this.missing = 0;
    this.complete = false;
    this.isWritten = false;
    this.isOver = false;
  }

  private shareOf({ request: { network }, route: { zone } }: Passing): OriginShare {
    const { share } = this;
    if (share?.zone === zone.seq && share.account === zone.account) return share;
    return (this.share = { account: zone.account, zone: zone.seq, network });
  }

  onPlace(nowMs: number): void {
    const { plan } = this.passing!;
    this.startedMs = nowMs;
    try {
      this.options.origins.pools.begin(this.share!, plan.endpoints[this.endpoint]!, this, nowMs);
    } catch (error) {
      this.onFault(error);
    }
  }

  onNoPlace(failure: Failure): void {
    bounded(this.onFault, () => this.refuse(failure));
  }

  writeTo(socket: Socket): void {
    this.head.writeTo(socket, this.passing!.request, this.options.origins.rules);
  }

  /** What the origin sends. Throws as the general reader does. */
  feed(octets: Buffer, nowMs: number): void {
    let rest: Exchange | undefined;
    try {
      if (this.status !== 0) this.readBody(octets, 0);
      else rest = this.readHead(octets, nowMs);
    } catch (error) {
      this.onFault(error);
    }
    rest?.reader.feed(octets);
  }

  close(): boolean {
    return false;
  }

  /** Returns the exchange of the general way if that has to read it. */
  private readHead(octets: Buffer, nowMs: number): Exchange | undefined {
    const { asked, request, passage } = this.passing!;
    const end = responseHead.read(octets, asked.policy.compresses);
    if (end === 0) return this.goOn();
    const { origins, onResult } = this.options;
    origins.onLatency(nowMs - this.startedMs);
    onResult(RESULT);
    passage.leave();
    const { status, length, isLast: isLastOfOrigin, keepAliveS } = responseHead.head;
    this.status = status;
    this.missing = length;
    this.isReusable = !isLastOfOrigin;
    this.keepAliveS = keepAliveS;
    const to = this.take(octets, end);
    this.octets = to - end;
    this.noteTaking(this.outlet.begin(request.ray, octets, end, to, this.isDone));
    return undefined;
  }

  private readBody(octets: Buffer, start: number): void {
    const end = this.take(octets, start);
    if (this.ahead && !this.ahead.isEmpty) this.ahead.onData(Buffer.from(octets.subarray(start, end)));
    else {
      this.octets += end - start;
      this.noteTaking(this.outlet.send(octets, start, end, this.isDone));
    }
  }

  /** Returns where the octets of the body end. */
  private take(octets: Buffer, start: number): number {
    const end = Math.min(octets.length, start + this.missing);
    this.missing -= end - start;
    this.isDone = this.missing === 0;
    if (end < octets.length) {
      this.hasMore = true;
      this.isReusable = false;
    }
    return end;
  }

  private noteTaking(takesMore: boolean): void {
    if (takesMore || this.isDone || this.isOver) return;
    this.isSpent = true;
    this.ahead ??= this.readAhead();
    this.ahead.pause();
    this.options.stalls.watch(this);
  }

  private readAhead(): ReadAhead {
    const { memory } = this.options.origins;
    const { account } = this.passing!.route.zone;
    const ahead = new ReadAhead(slowSink(this), this, { memory, account });
    ahead.expect(this.octets + this.missing);
    return ahead;
  }

  /** Of a body that is read ahead. */
  write(chunk: Buffer): void {
    this.octets += chunk.length;
    if (this.outlet.write(chunk)) return;
    this.ahead!.pause();
    this.options.stalls.watch(this);
  }

  onEnd(_trailers: HeaderList, nowMs: number): void {
    try {
      this.endOrigin(nowMs);
      if (this.ahead) this.ahead.onEnd(NONE);
      else this.finish();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** The whole response was written. */
  finish(): void {
    this.isWritten = true;
    const isTaken = this.outlet.finish();
    if (isTaken !== 'late') this.written(isTaken);
  }

  written(isTaken: boolean): void {
    if (isTaken) this.end(true);
    else this.options.stalls.watch(this);
  }

  onError(error: Error): void {
    bounded(this.onFault, () => {
      if (this.isOver) return;
      if (this.status === 0) {
        this.goOn(error);
        return;
      }
      this.endOrigin(steadyMs(this.options.clock));
      const failure = originFailure(error);
      if (this.ahead) this.ahead.onFailure(failure);
      else this.cutFor(failure);
    });
  }

  /** A started response cannot be replaced. */
  cutFor(failure: Failure): void {
    this.failure = failure;
    this.cut();
  }

  /** Gives its place to others, who need it more. */
  giveBack(): void {
    if (this.holder) this.holder.giveBack();
    else if (!this.isOver) {
      const failure = refusal('this client or this zone');
      this.abort();
      if (this.status === 0) this.refuse(failure);
      else this.cutFor(failure);
    }
  }

  drained(): void {
    this.options.stalls.forget(this);
    if (this.isWritten) this.end(true);
    else this.ahead?.resume();
  }

  cut(): void {
    this.isSpent = true;
    this.outlet.cut();
  }

  /** Ends the exchange with the origin. */
  abort(): void {
    this.isSpent = true;
    this.connection?.drop(this);
    this.endOrigin(steadyMs(this.options.clock));
  }

  private endOrigin(nowMs: number): void {
    this.connection = undefined;
    this.place?.leave(nowMs);
  }

  end(isSent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.complete = isSent;
    this.options.stalls.forget(this);
    if (!isSent) {
      this.abort();
      this.ahead?.drop();
      this.passing!.passage.leave();
    }
    this.client.report(this);
    this.passing = undefined;
    // The next request may begin meanwhile.
    if (isSent) this.outlet.close();
  }

  private generalResponse(): ClientResponse {
    this.isOver = true;
    this.isSpent = true;
    return this.outlet.general();
  }

  /** There is no place for it. */
  private refuse(failure: Failure): void {
    this.passing!.passage.leave();
    this.client.reply(this.generalResponse()).onFailure(failure);
  }

  /** The general way goes on: with the response that begins, whose exchange is returned, or with an error. */
  private goOn(error?: Error): Exchange | undefined {
    const { plan, request, route, asked, passage } = this.passing!;
    const { endpoint, startedMs, connection } = this;
    const { clock } = this.options;
    const place = this.place!;
    this.place = undefined;
    this.connection = undefined;
    let exchange: Exchange | undefined;
    const lead = (events: OriginEvents): OriginControl => {
      if (!connection || error) {
        queueMicrotask(() => events.onError(error!));
        return NO_CONTROL;
      }
      exchange = new Exchange(undefined, false, false, events);
      connection.handOver(exchange);
      return exchange;
    };
    const leave = (): void => place.leave(steadyMs(clock));
    const begun: BegunExchange = { plan, endpoint, leave, startedMs, lead };
    const rest = createRestStage(this.options.origins, begun, (holder) => (this.holder = holder));
    const reply = this.client.reply(this.generalResponse());
    reply.onGone = this.options.pass({ request, route, asked }, passage, reply, rest);
    return exchange;
  }

  /** A bug ends this exchange, and no other. */
  readonly onFault = (error: unknown): void => {
    this.options.origins.onFault(error);
    this.abort();
    this.cut();
  };
}

const NO_CONTROL: OriginControl = { pause() {}, resume() {}, abort() {} };
