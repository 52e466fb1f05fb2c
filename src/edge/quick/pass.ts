/**
 * Passes the response to a plain request on from an origin, without stages: one object for an exchange, and one write for the head and
 * the part of the body that came with it. As soon as anything is not usual, the general way goes on with what was begun.
 */
import type { Socket } from 'node:net';
import type { Leave, TurnHolder } from '../../base/turns.js';
import type { OriginRoute } from '../../hostnames/routing/find-route.js';
import type { Channel, Sending as ChannelSending } from '../../plain/connections.js';
import { printFieldLines } from '../../plain/field-lines.js';
import type { Part } from '../../plain/parts.js';
import { writeJoined } from '../../plain/write-joined.js';
import type { CacheRequest } from '../cache/cache-state.js';
import type { Passage } from '../cache/passage.js';
import type { CacheStage } from '../cache/stage.js';
import type { Failure } from '../error-pages/failures.js';
import { bounded } from '../exchange/bounded.js';
import type { ClientResponse } from '../exchange/client-response.js';
import type { EdgeRequest, HeaderList, OriginControl, OriginEvents } from '../exchange/exchange.js';
import { originFailure } from '../exchange/origin-failure.js';
import type { Sending, Stalls, Taker } from '../exchange/stalls.js';
import { type ConnectionExchange, Exchange, PausableExchange, type Reader } from '../http1/origin-connection.js';
import type { ClientStream } from '../http2/client-stream.js';
import type { ClientSide } from '../listen/front.js';
import { type BegunExchange, createRestStage, type FromOriginOptions, nextEndpoint } from '../proxy/from-origin.js';
import { headersForAll } from '../proxy/headers.js';
import { refusal } from '../proxy/origin-places.js';
import type { OriginPlan } from '../proxy/origin-plan.js';
import { ReadAhead } from '../proxy/read-ahead.js';
import { type Outlet, type OutletEvents, PlainOutlet, StreamOutlet } from './outlets.js';
import { RESULT, responseHead } from './response-head.js';
import { slowSink } from './slow-sink.js';

export interface PassOptions {
  readonly origins: FromOriginOptions;
  readonly pass: CacheStage['pass'];
  readonly stalls: Stalls;
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
  readonly client: ClientSide;
}

const NONE: HeaderList = [];

const METHOD = Buffer.from('GET ');
const AFTER_RAY = Buffer.from('\r\nconnection: keep-alive\r\n\r\n');

/** Printed once for requests that repeat their fields. */
const printed = new WeakMap<HeaderList, Part>();

/** What stands between the target and the ray of a request to an origin. */
function afterTarget(headers: HeaderList): Part {
  const before = printed.get(headers);
  if (before) return before;
  const lines = linesAfterTarget(headers);
  if (!Object.isFrozen(headers)) return lines;
  const part = Buffer.from(lines, 'latin1');
  printed.set(headers, part);
  return part;
}

function linesAfterTarget(headers: HeaderList): string {
  return ` HTTP/1.1\r\n${printFieldLines(headers)}cf-ray: `;
}

/** Begins the exchange with the origin. */
export function passOn(options: PassOptions, passing: Passing, channel: Channel, isLast: boolean): ChannelSending {
  const outlet = new PlainOutlet(channel, isLast);
  const exchange = new QuickExchange(options, passing, outlet);
  outlet.events = exchange;
  exchange.begin();
  return outlet;
}

/** The same for a response in a stream of HTTP/2. */
export function passOnInStream(options: PassOptions, passing: Passing, stream: ClientStream): void {
  const exchange = new QuickExchange(options, passing, new StreamOutlet(stream));
  stream.watch({ drained: () => exchange.drained(), closed: (isSent) => exchange.end(isSent) });
  exchange.begin();
}

class QuickExchange
  extends PausableExchange
  implements OutletEvents, Sending, TurnHolder, ConnectionExchange, Reader, OriginControl
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

  private endpoint = 0;
  private startedMs = 0;
  private leave: Leave | undefined;
  private stopWaiting: (() => void) | undefined;
  /** Of the response; 0: its head was not sent yet. */
  private status = 0;
  private octets = 0;
  /** Octets of the body that have not come. */
  private missing = 0;
  private failure: Failure | undefined;
  /** For a client that is slow. */
  private ahead: ReadAhead | undefined;
  private isWritten = false;
  private isOver = false;
  private holder: TurnHolder | undefined;

  constructor(
    private readonly options: PassOptions,
    private readonly passing: Passing,
    private readonly outlet: Outlet,
  ) {
    super();
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

  begin(): void {
    const { request, route, plan } = this.passing;
    const { places } = this.options.origins;
    const share = { account: route.zone.account, zone: route.zone.seq, network: request.network };
    this.endpoint = nextEndpoint(plan);
    this.leave = places.enterNow(share, this);
    if (this.leave) {
      bounded(this.onFault, () => this.send());
      return;
    }
    this.stopWaiting = places.ask(share, this, (place) => {
      this.stopWaiting = undefined;
      bounded(this.onFault, () => {
        if (typeof place !== 'function') this.refuse(place);
        else if (this.isOver) place();
        else {
          this.leave = place;
          this.send();
        }
      });
    });
  }

  private send(): void {
    const { route, plan } = this.passing;
    this.startedMs = performance.now();
    this.options.origins.pools.begin(route.zone.seq, plan.endpoints[this.endpoint]!, this);
  }

  writeTo(socket: Socket): void {
    const { request } = this.passing;
    const headers = headersForAll(request, this.options.origins.rules);
    writeJoined(socket, [METHOD, request.target, afterTarget(headers), request.ray, AFTER_RAY], undefined);
  }

  /** What the origin sends. Throws as the general reader does. */
  feed(octets: Buffer): void {
    let rest: Exchange | undefined;
    try {
      if (this.status !== 0) this.readBody(octets, 0);
      else rest = this.readHead(octets);
    } catch (error) {
      this.onFault(error);
    }
    rest?.reader.feed(octets);
  }

  close(): boolean {
    return false;
  }

  /** Returns the exchange of the general way if that has to read it. */
  private readHead(octets: Buffer): Exchange | undefined {
    const { asked, request } = this.passing;
    const end = responseHead.read(octets, asked.policy.compresses);
    if (end === 0) return this.goOn();
    const { origins, onResult } = this.options;
    origins.onLatency(performance.now() - this.startedMs);
    onResult(RESULT);
    this.passing.passage.leave();
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
    if (this.ahead) this.ahead.onData(Buffer.from(octets.subarray(start, end)));
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
    this.ahead = this.readAhead();
    this.ahead.pause();
    this.options.stalls.watch(this);
  }

  private readAhead(): ReadAhead {
    const { memory } = this.options.origins;
    const { account } = this.passing.route.zone;
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

  onEnd(): void {
    bounded(this.onFault, () => {
      this.endOrigin();
      if (this.ahead) this.ahead.onEnd(NONE);
      else this.finish();
    });
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
      this.endOrigin();
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
    this.outlet.cut();
  }

  /** Ends the exchange with the origin. */
  abort(): void {
    this.stopWaiting?.();
    this.connection?.drop(this);
    this.endOrigin();
  }

  private endOrigin(): void {
    this.connection = undefined;
    this.leave?.();
    this.leave = undefined;
  }

  end(isSent: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.options.stalls.forget(this);
    if (!isSent) {
      this.abort();
      this.ahead?.drop();
      this.passing.passage.leave();
    }
    const { status, octets, failure } = this;
    this.passing.client.report({ status, octets, failure, complete: isSent });
    if (isSent) this.outlet.close();
  }

  private generalResponse(): ClientResponse {
    this.isOver = true;
    return this.outlet.general();
  }

  /** There is no place for it. */
  private refuse(failure: Failure): void {
    const { passage, client } = this.passing;
    passage.leave();
    client.reply(this.generalResponse()).onFailure(failure);
  }

  /** The general way goes on: with the response that begins, whose exchange is returned, or with an error. */
  private goOn(error?: Error): Exchange | undefined {
    const { plan, request, route, asked, passage, client } = this.passing;
    const { endpoint, startedMs, connection } = this;
    const leave = this.leave!;
    this.leave = undefined;
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
    const begun: BegunExchange = { plan, endpoint, leave, startedMs, lead };
    const rest = createRestStage(this.options.origins, begun, (holder) => (this.holder = holder));
    const reply = client.reply(this.generalResponse());
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
